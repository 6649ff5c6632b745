//! The loops of the program are compiled as they are written.

/// An intrinsic that is compiled as a function is called for every vector, which takes ten times as long. It happens where a
/// closure within a kernel is not inlined, as the closure of `array::from_fn`, or a method of another crate.
#[test]
fn every_intrinsic_is_inlined() {
    let program = std::fs::read(assert_cmd::cargo::cargo_bin("karhunen")).unwrap();
    let has_symbol = |text: &[u8]| program.windows(text.len()).any(|window| window == text);
    assert!(has_symbol(b"karhunen_linalg"), "a program without symbols shows nothing");
    for module in ["3x863avx", "3x864avx2", "3x867avx512f", "3x863fma"] {
        let symbol = format!("core_arch{module}");
        assert!(!has_symbol(symbol.as_bytes()), "an intrinsic is a function of its own: {module}");
    }
}
