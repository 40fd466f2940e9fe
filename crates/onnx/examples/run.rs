//! Runs a model on ones, and prints its results.
//!
//! `cargo run --release --example run -- model.onnx 1,3,224,224`

use svod_onnx::Model;
use svod_tensor::{DType, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = Model::open(arguments.next().ok_or("the model's file is missing")?)?;
    let mut inputs = Vec::new();
    for (port, extents) in model.inputs().iter().zip(arguments) {
        let shape = extents.split(',').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
        inputs.push(Some(Tensor::ones(&shape, port.dtype.unwrap_or(DType::F32))?.into()));
    }
    for (port, value) in model.outputs().iter().zip(model.run(&inputs)?) {
        println!("{}: {:?}", port.name, value.tensor()?.cast(DType::F64)?.to_vec::<f64>()?);
    }
    Ok(())
}
