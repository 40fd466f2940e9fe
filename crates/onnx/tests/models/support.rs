//! Small models that tests are made of.

use svod_onnx::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute,
};

pub fn port(name: &str, extents: &[&str]) -> ValueInfoProto {
    let dim = |text: &&str| match text.parse() {
        Ok(number) => DimensionProto { dim_value: Some(number), dim_param: None },
        Err(_) => DimensionProto { dim_value: None, dim_param: Some((*text).into()) },
    };
    let shape = Some(TensorShapeProto { dim: extents.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: 1, shape });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

pub fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    let input = inputs.iter().map(|name| (*name).into()).collect();
    NodeProto { op_type: op.into(), input, output: vec![output.into()], ..NodeProto::default() }
}

/// `y = relu(x @ w)` with `w` of 2 by 3.
pub fn model() -> ModelProto {
    let weight = TensorProto {
        name: "w".into(),
        dims: vec![2, 3],
        data_type: 1,
        float_data: vec![1.0, 0.0, -1.0, 0.0, 1.0, -1.0],
        ..TensorProto::default()
    };
    let graph = GraphProto {
        node: vec![node("MatMul", &["x", "w"], "h"), node("Relu", &["h"], "y")],
        initializer: vec![weight],
        input: vec![port("x", &["rows", "2"])],
        output: vec![port("y", &["rows", "3"])],
        ..GraphProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 21 }];
    ModelProto { ir_version: 10, opset_import, graph: Some(graph), ..ModelProto::default() }
}

/// That one, one that branches, and one that calls a function of its own.
pub fn models() -> [ModelProto; 3] {
    let branch = |op: &str| {
        let nodes = vec![node(op, &["x", "x"], "r")];
        let graph = GraphProto { node: nodes, output: vec![port("r", &["rows", "2"])], ..GraphProto::default() };
        let name = if op == "Add" { "then_branch" } else { "else_branch" };
        AttributeProto { name: name.into(), r#type: attribute::GRAPH, g: Some(graph), ..AttributeProto::default() }
    };
    let mut branched = model();
    let graph = branched.graph.as_mut().unwrap();
    let condition = TensorProto { name: "c".into(), data_type: 9, int32_data: vec![1], ..TensorProto::default() };
    graph.initializer.push(condition);
    graph.node = vec![
        NodeProto { attribute: vec![branch("Add"), branch("Mul")], ..node("If", &["c"], "b") },
        node("MatMul", &["b", "w"], "y"),
    ];
    let mut called = model();
    let graph = called.graph.as_mut().unwrap();
    graph.node[1] = NodeProto { domain: "own".into(), ..node("Twice", &["h"], "y") };
    called.opset_import.push(OperatorSetIdProto { domain: "own".into(), version: 1 });
    called.functions.push(FunctionProto {
        name: "Twice".into(),
        domain: "own".into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: vec![node("Add", &["a", "a"], "b")],
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 21 }],
        ..FunctionProto::default()
    });
    [model(), branched, called]
}
