#![allow(clippy::unwrap_used)]
//! Compiled values: realize, prepare, sharing, versions, errors.

#[cfg(debug_assertions)]
mod compile_time;
mod support;
use std::ptr::NonNull;
use support::*;
use svod_tensor::{Content, DType, ErrorKind, Index, Tensor, TensorError, Traced};

fn read(t: &Tensor) -> Vec<f32> {
    t.to_vec::<f32>().unwrap()
}

#[test]
fn c1_realize_shares_its_result() {
    let x = iota(&[2, 3]);
    let (y, z) = ((&x + 1.0).unwrap(), (&x + 1.0).unwrap());
    assert!(!y.is_realized());
    y.realize().unwrap();
    assert!(z.is_realized() && y.uop() == z.uop());
    assert_eq!(read(&z), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let flat = y.reshape(&[6]).unwrap();
    flat.realize().unwrap();
    assert_eq!(flat.buffer().unwrap().as_ptr(), y.buffer().unwrap().as_ptr());
}

#[test]
fn c1_c2_nothing_to_compute() {
    let constant = Tensor::full(&[2, 2], -0.0, None).unwrap();
    let pending = constant.add(1).unwrap();
    assert_eq!(read(&constant), [-0.0; 4]);
    assert!(constant.is_realized());
    assert_eq!(read(&pending), [1.0; 4]);
    assert_eq!(Tensor::scalar(3, None).unwrap().item::<i64>().unwrap(), 3);
    let empty = iota(&[0, 3]).add(1).unwrap().sum(Some(&[1]), false).unwrap();
    assert_eq!(read(&empty), [0.0; 0]);
    Tensor::realize_batch(&[]).unwrap();
    let plan = iota(&[2]).prepare(&[]).unwrap();
    plan.execute().unwrap();
    assert_eq!(Tensor::prepare_batch(&[&iota(&[2])], &[]).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn c3_batches_share_work() {
    let x = iota(&[4]);
    let (a, b) = (x.mul(2).unwrap(), x.mul(2).unwrap().sum(None, false).unwrap());
    Tensor::realize_batch(&[&a, &b, &x, &a]).unwrap();
    assert_eq!((read(&a), read(&b)), (vec![0.0, 2.0, 4.0, 6.0], vec![12.0]));
}

#[test]
fn c3_a_batch_mismatch_names_both_counts() {
    let short = TensorError::from(svod_runtime::Error::BatchMismatch { tensors: 3, outputs: 2 });
    assert_eq!(short.to_string(), "batch mismatch: 3 tensors but 2 outputs");
    assert_eq!(short.kind(), ErrorKind::Value);
}

#[test]
fn c2_plans_have_inputs() {
    let x = iota(&[3]);
    let y = x.mul(10).unwrap();
    let other = x.mul(10).unwrap();
    let plan = y.prepare(&[&x]).unwrap();
    assert!(!other.is_realized());
    assert!(matches!(y.to_bytes(), Err(TensorError::Unwritten { .. })));
    plan.execute().unwrap();
    assert_eq!(read(&y), [0.0, 10.0, 20.0]);
    let pending = y.add(1).unwrap();
    plan.execute_on(&[&t(&[3.0, 4.0, 5.0], &[3])], &[]).unwrap();
    assert_eq!(
        (read(&y), read(&other), read(&x)),
        (vec![30.0, 40.0, 50.0], vec![0.0, 10.0, 20.0], vec![0.0, 1.0, 2.0])
    );
    assert_eq!(read(&pending), [1.0, 11.0, 21.0], "of the run that it was built after");
    assert_eq!(read(&y.add(1).unwrap()), [31.0, 41.0, 51.0]);
    let second = plan.instance().unwrap();
    second.set_input(0, Content::Tensor(&iota(&[3]))).unwrap();
    second.execute().unwrap();
    assert_eq!(read(&second.outputs()[0]), [0.0, 10.0, 20.0]);
    assert_eq!(read(&y), [30.0, 40.0, 50.0]);

    assert_eq!(plan.execute_on(&[&iota(&[4])], &[]).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(plan.execute_on(&[&i(&[0; 3], &[3])], &[]).unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(plan.execute_on(&[&x, &x], &[]).unwrap_err().kind(), ErrorKind::Value);
    let zeros = Tensor::zeros(&[3], DType::F32).unwrap();
    let late = zeros.add(&x).unwrap();
    assert_eq!(late.prepare(&[&zeros]).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn b4_a_body_writes_only_what_is_its_own() {
    let (x, outside) = (iota(&[2]), iota(&[2]));
    let error = Tensor::iterate(0..3, &[&x], |_, v| {
        outside.assign(&v[0])?;
        Ok::<_, TensorError>(v)
    });
    assert!(matches!(error, Err(TensorError::Outside { op: "assign", what: Traced::Body, .. })));
    let mut leaked = Vec::new();
    let last = Tensor::iterate(0..3, &[&x], |_, v| {
        leaked.push(v[0].clone());
        let next = v[0].add(1)?;
        v[0].assign(&next)?;
        Ok::<_, TensorError>(v)
    });
    assert_eq!(read(&last.unwrap()[0]), [3.0, 4.0]);
    assert!(matches!(outside.assign(&leaked[0]), Err(TensorError::Leaked)));
    assert!(matches!(leaked[0].realize(), Err(TensorError::Leaked)));
    let error = leaked[0].add(1).unwrap().prepare(&[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Trace);
    assert_eq!((read(&outside), read(&x)), (vec![0.0, 1.0], vec![0.0, 1.0]));
}

#[test]
fn c2_d1_plans_outlive_their_tensors() {
    let (plan, out) = {
        let x = iota(&[3]);
        let y = x.add(1).unwrap();
        let plan = y.prepare(&[]).unwrap();
        x.assign(7).unwrap();
        let out = plan.outputs().remove(0);
        (plan, out)
    };
    plan.execute().unwrap();
    assert_eq!(read(&out), [1.0, 2.0, 3.0]);
}

#[test]
fn c1_writes_are_seen_by_what_is_built_after() {
    let x = iota(&[2]);
    let before = x.mul(2).unwrap();
    before.realize().unwrap();
    x.copy_in(&[5.0f32, 6.0].map(f32::to_le_bytes).concat()).unwrap();
    assert_eq!(read(&x.mul(2).unwrap()), [10.0, 12.0]);
    assert_eq!(read(&before), [0.0, 2.0]);
}

#[test]
fn c1_borrowed_memory_is_never_remembered() {
    let mut memory = vec![1.0f32, 2.0];
    let pointer = NonNull::new(memory.as_mut_ptr()).unwrap();
    // SAFETY: the vector outlives the tensors, and is written between runs only.
    let x = unsafe { Tensor::borrowed(pointer.cast(), DType::F32, &[2], true, Box::new(())) }.unwrap();
    assert_eq!(read(&x.add(1).unwrap()), [2.0, 3.0]);
    let copy = x.contiguous().unwrap();
    copy.realize().unwrap();
    // SAFETY: as above.
    unsafe { *pointer.as_ptr() = 7.0 };
    assert_eq!(read(&x.add(1).unwrap()), [8.0, 3.0]);
    assert_eq!(read(&copy), [1.0, 2.0]);
    drop((x, copy));
    drop(memory);
}

#[test]
fn indices_out_of_range() {
    let table = iota(&[3, 2]);
    // Computed: masked, and an error after the run.
    let computed = i(&[1, 2], &[2]).add(1).unwrap();
    let rows = table.take(&computed, 0).unwrap();
    assert_eq!(rows.realize().unwrap_err().kind(), ErrorKind::Index);
    assert!(!rows.is_realized());
    // Proven inside.
    let best = table.argmax(Some(0), false).unwrap();
    assert_eq!(read(&table.take(&best, 0).unwrap()), [4.0, 5.0, 4.0, 5.0]);
    // Known since it was built.
    let later = i(&[1], &[1]).mul(5).unwrap();
    let rows = table.take(&later, 0).unwrap();
    later.realize().unwrap();
    assert_eq!(rows.realize().unwrap_err().to_string(), "lookup: index 5 is out of range for axis 0 with extent 3");
    // Given to a plan: before the run.
    let ids = i(&[0, -1], &[2]);
    let rows = table.embedding(&ids).unwrap();
    let plan = rows.prepare(&[&ids]).unwrap();
    plan.execute().unwrap();
    assert_eq!(read(&rows), [0.0, 1.0, 4.0, 5.0]);
    assert_eq!(plan.execute_on(&[&i(&[3, 0], &[2])], &[]).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(read(&rows), [0.0, 1.0, 4.0, 5.0]);
    plan.execute_on(&[&i(&[-3, 2], &[2])], &[]).unwrap();
    assert_eq!(read(&rows), [0.0, 1.0, 4.0, 5.0]);
}

#[test]
fn c1_threads_realize_one_value() {
    let x = iota(&[64, 64]);
    let products: Vec<Tensor> = (0..4).map(|_| x.matmul(&x).unwrap()).collect();
    std::thread::scope(|scope| products.iter().for_each(|p| drop(scope.spawn(|| p.realize().unwrap()))));
    assert!(products.iter().all(|p| p.uop() == products[0].uop()));
}

#[test]
fn devices() {
    let x = iota(&[2]);
    assert_eq!(x.to("cpu").unwrap().uop(), x.uop());
    assert_eq!(x.to("CUDA:3").unwrap_err().kind(), ErrorKind::Device);
    assert_eq!(x.to("quantum").unwrap_err().kind(), ErrorKind::Device);
    assert_eq!(Tensor::load_safetensors("missing.safetensors").unwrap_err().kind(), ErrorKind::File);
}

#[test]
fn reading_types() {
    let x = iota(&[2]);
    assert_eq!(x.to_vec::<i64>().unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(x.item::<f32>().unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(x.get(&[Index::from(1)]).unwrap().item::<f32>().unwrap(), 1.0);
    assert!(x.graph().contains("leaf data"));
}

#[test]
fn safetensors() {
    let path = std::env::temp_dir().join(format!("svod-tensor-{}.safetensors", std::process::id()));
    let header = br#"{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend([1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).chain([7]));
    std::fs::write(&path, &file).unwrap();
    let tensors = Tensor::load_safetensors(&path).unwrap();
    assert_eq!(read(&tensors["w"].mul(&tensors["b"]).unwrap()), [10.5, -14.0]);
    std::fs::write(&path, &file[..file.len() - 1]).unwrap();
    assert_eq!(Tensor::load_safetensors(&path).unwrap_err().kind(), ErrorKind::File);
    std::fs::remove_file(&path).unwrap();
}
