//! `#[explained]`: an argument that does not fit is an error that names the function and the parameter.
//!
//! PyO3 converts arguments before a function runs, and its errors do not know of which function they are. The attribute,
//! above `#[pymethods]` or `#[pyfunction]`, has each argument converted by a function of its own, which knows both names.
//! A call that succeeds costs what it did.

use proc_macro::TokenStream;
use proc_macro2::{TokenStream as Tokens, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Block, FnArg, Ident, ImplItem, Item, Pat, Path, ReturnType, Signature, Type, parse_quote};

/// Converts the arguments of a function, or of all functions of an `impl`, by way of `crate::explained`.
///
/// The errors of functions that make a tensor name them too, and not the operations that they are composed of.
///
/// Left as they are: `*args` and `**kwargs`, whose parts the function itself looks at; borrowed objects; what any object
/// is; and the arguments of special methods, in whose place Python names the operator.
#[proc_macro_attribute]
pub fn explained(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = syn::parse_macro_input!(item as Item);
    let mut made = Tokens::new();
    match &mut item {
        Item::Fn(function) => {
            let own = named(&function.attrs).unwrap_or_else(|| function.sig.ident.unraw().to_string());
            for argument in arguments(&mut function.sig, &function.attrs, &quote!(#own), None) {
                made.extend(argument);
            }
            name_errors(&function.sig, &mut function.block, &own);
        }
        Item::Impl(methods) => {
            let class = &methods.self_ty;
            let mut all = Tokens::new();
            for method in &mut methods.items {
                let ImplItem::Fn(method) = method else { continue };
                let own = named(&method.attrs).unwrap_or_else(|| method.sig.ident.unraw().to_string());
                let makes = method.attrs.iter().any(|attribute| attribute.path().is_ident("new"));
                let function = match makes {
                    true => quote!(<#class as ::pyo3::PyClass>::NAME),
                    false if own.starts_with('_') && own != "__call__" => continue,
                    false => quote!(#own),
                };
                for argument in arguments(&mut method.sig, &method.attrs, &function, Some(class)) {
                    all.extend(argument);
                }
                if !makes {
                    name_errors(&method.sig, &mut method.block, &own);
                }
            }
            made = quote!(impl #class { #all });
        }
        _ => return quote!(compile_error!("a function, or an impl of functions");).into(),
    }
    quote!(#item #made).into()
}

/// Has the errors of a function that makes tensors (its result is `Made..` or a `Pair`), of operations that it is composed of, name the function. Private
/// functions are parts of others, which name theirs.
fn name_errors(signature: &Signature, block: &mut Block, own: &str) {
    let ReturnType::Type(_, kind) = &signature.output else { return };
    let Type::Path(path) = &**kind else { return };
    let makes = path.path.segments.last().is_some_and(|last| {
        let name = last.ident.to_string();
        name.starts_with("Made") || name == "Pair"
    });
    if makes && !own.starts_with('_') {
        *block = parse_quote!({
            let made = crate::origin::called(#own, move || -> #kind { #block });
            crate::explained::by_name(#own, made)
        });
    }
}

/// The functions that convert the arguments of one.
fn arguments(
    signature: &mut Signature,
    attributes: &[Attribute],
    function: &Tokens,
    class: Option<&Type>,
) -> Vec<Tokens> {
    let starred = starred(attributes);
    let own = signature.ident.unraw();
    let mut made = Vec::new();
    for argument in &mut signature.inputs {
        let FnArg::Typed(argument) = argument else { continue };
        let Pat::Ident(pattern) = &*argument.pat else { continue };
        let parameter = pattern.ident.unraw().to_string();
        let receives = ["slf", "cls", "py"].contains(&parameter.as_str());
        if receives || starred.contains(&parameter) || is_borrowed(&argument.ty) || is_any(&argument.ty) {
            continue;
        }
        let (by, others): (Vec<_>, Vec<_>) =
            argument.attrs.drain(..).partition(|attribute| converter(attribute).is_some());
        argument.attrs = others;
        let by = match by.first().and_then(converter) {
            Some(path) => quote!(crate::explained::by(#function, #parameter, given, #path)),
            None => quote!(crate::explained::argument(#function, #parameter, given)),
        };
        let name = format_ident!("_{}_{}", own, parameter);
        let kind = with_lifetimes(argument.ty.to_token_stream());
        made.push(quote! {
            #[allow(non_snake_case, clippy::needless_lifetimes, reason = "named after a function, for any type")]
            fn #name<'a, 'py>(given: &'a ::pyo3::Bound<'py, ::pyo3::PyAny>) -> ::pyo3::PyResult<#kind> {
                #by
            }
        });
        let path: Path = match class {
            Some(Type::Path(class)) => {
                let class = &class.path;
                parse_quote!(#class::#name)
            }
            _ => parse_quote!(#name),
        };
        argument.attrs.push(parse_quote!(#[pyo3(from_py_with = #path)]));
    }
    made
}

/// The name that Python has for a function: `name = ".."` of its `#[pyo3(..)]` or `#[pyfunction(..)]`, or of `#[getter(..)]`.
fn named(attributes: &[Attribute]) -> Option<String> {
    let getter = attributes.iter().find(|attribute| attribute.path().is_ident("getter"));
    let mut found = getter.and_then(|attribute| attribute.parse_args::<Ident>().ok()).map(|name| name.to_string());
    let of_pyo3 = |attribute: &&Attribute| ["pyo3", "pyfunction"].iter().any(|name| attribute.path().is_ident(name));
    for attribute in attributes.iter().filter(of_pyo3) {
        // Other keys are PyO3's to understand.
        let _ = attribute.parse_nested_meta(|meta| {
            let is_name = meta.path.is_ident("name");
            let value: syn::Expr = meta.value()?.parse()?;
            if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value
                && is_name
            {
                found = Some(text.value());
            }
            Ok(())
        });
    }
    found
}

/// The parameters after stars in the signature of `#[pyo3(signature = (..))]`.
fn starred(attributes: &[Attribute]) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("pyo3")) {
        let syn::Meta::List(list) = &attribute.meta else { continue };
        let mut inside = list.tokens.clone().into_iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        let Some(signature) = inside.next() else { continue };
        let mut star = false;
        for token in signature {
            match token {
                TokenTree::Punct(sign) => star = sign.as_char() == '*',
                TokenTree::Ident(name) if star => {
                    found.push(name.unraw().to_string());
                    star = false;
                }
                _ => star = false,
            }
        }
    }
    found
}

/// The function of `#[pyo3(from_py_with = ..)]`.
fn converter(attribute: &Attribute) -> Option<Path> {
    let syn::Meta::List(list) = &attribute.meta else { return None };
    let pair: syn::MetaNameValue = syn::parse2(list.tokens.clone()).ok()?;
    match pair.value {
        syn::Expr::Path(path) if list.path.is_ident("pyo3") && pair.path.is_ident("from_py_with") => Some(path.path),
        _ => None,
    }
}

/// What is within `Option<..>`, or the type.
fn inner(kind: &Type) -> &Type {
    if let Type::Path(path) = kind
        && let Some(last) = path.path.segments.last()
        && last.ident == "Option"
        && let syn::PathArguments::AngleBracketed(of) = &last.arguments
        && let Some(syn::GenericArgument::Type(inner)) = of.args.first()
    {
        return inner;
    }
    kind
}

/// Whether PyO3 keeps an object of its own for a borrowed one: text is lent by the object itself.
fn is_borrowed(kind: &Type) -> bool {
    match inner(kind) {
        Type::Reference(reference) => !matches!(&*reference.elem, Type::Path(path) if path.path.is_ident("str")),
        _ => false,
    }
}

/// Whether any object is one: `Py<PyAny>`, `Bound<'_, PyAny>`; `Python` is no object.
fn is_any(kind: &Type) -> bool {
    let Type::Path(path) = inner(kind) else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    let syn::PathArguments::AngleBracketed(of) = &last.arguments else { return false };
    let any: Ident = format_ident!("PyAny");
    last.ident == "Python"
        || (last.ident == "Py" || last.ident == "Bound")
            && of
                .args
                .iter()
                .any(|of| matches!(of, syn::GenericArgument::Type(Type::Path(of)) if of.path.is_ident(&any)))
}

/// The type with the lifetimes that a signature leaves out: an object's is the interpreter's, a reference's the argument's.
fn with_lifetimes(kind: Tokens) -> Tokens {
    let mut made = Tokens::new();
    let mut tokens = kind.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let inside = with_lifetimes(group.stream());
                made.extend([TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inside))]);
            }
            TokenTree::Punct(sign) if sign.as_char() == '\'' => {
                tokens.next();
                made.extend(quote!('py));
            }
            TokenTree::Punct(sign) if sign.as_char() == '&' => {
                if matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'') {
                    tokens.next();
                    tokens.next();
                }
                made.extend(quote!(&'a));
            }
            other => made.extend([other]),
        }
    }
    made
}
