//! Contract A7: names of devices; A10: variables.
#![allow(clippy::unwrap_used)]

use svod_device::{DeviceError, DeviceSpec, Variable};

#[test]
fn a7_specs_parse_and_print() {
    for (text, printed) in [
        ("CPU", "CPU"),
        ("cpu:0", "CPU"),
        ("host", "CPU"),
        ("CPU:3", "CPU:3"),
        ("cuda", "CUDA:0"),
        ("GPU:1", "CUDA:1"),
        ("nv:2", "CUDA:2"),
        ("metal", "Metal:0"),
        ("mps:1", "Metal:1"),
        ("disk:/tmp/a:b.bin", "DISK:/tmp/a:b.bin"),
    ] {
        let spec: DeviceSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), printed);
        assert_eq!(printed.parse::<DeviceSpec>().unwrap(), spec);
    }
    assert_eq!(DeviceSpec::Cuda(0).base(), DeviceSpec::Cuda(1).base());
    assert_eq!(DeviceSpec::default(), DeviceSpec::CPU);
}

#[test]
fn a7_an_unknown_name_is_an_error_that_says_what_is_known() {
    for text in ["", "tpu", "CPU:", "CPU:x", "cuda:-1", "CUDA:+1", "CUDA:99999999999", "disk", "DISK:"] {
        match text.parse::<DeviceSpec>() {
            Err(error @ DeviceError::UnknownDevice { .. }) => {
                let message = error.to_string();
                assert!(message.contains(&format!("'{text}'")) && message.contains("CUDA:n"), "{message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a10_a_variable_binds_inside_its_bounds() {
    let n = Variable::new("n", 1, 64).unwrap();
    assert_eq!(n.bind(33).unwrap().value(), 33);
    for outside in [0, 65] {
        let message = n.bind(outside).unwrap_err().to_string();
        assert!(message.contains(&outside.to_string()) && message.contains("[1, 64]"), "{message}");
    }
}
