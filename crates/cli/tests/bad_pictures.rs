//! Pictures that cannot be read: a text that says why, exit code 3, and nothing on standard output.

#![expect(clippy::unwrap_used, reason = "what a test sets up must work")]

mod program;

use std::fs;
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat};
use program::{SAMPLE, run, start};
use tempfile::TempDir;

/// Runs the program on a file of these bytes.
fn outcome_of(name: &str, bytes: &[u8]) -> (TempDir, PathBuf, program::Outcome) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let outcome = start(&["run", path.to_str().unwrap(), "--cuda", "off"], &[]);
    (folder, path, outcome)
}

#[track_caller]
fn is_refused(name: &str, bytes: &[u8], words: &str) {
    let (_folder, path, outcome) = outcome_of(name, bytes);
    assert_eq!((outcome.code, outcome.out.as_str()), (3, ""), "{name}: {outcome:?}");
    assert!(outcome.complaint().contains(words) && outcome.err.contains(path.to_str().unwrap()), "{name}: {outcome:?}");
    assert!(!outcome.err.contains("panicked"), "{name}: {outcome:?}");
}

fn sample() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE)).unwrap()
}

fn png(picture: &DynamicImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A PNG whose header, checksum included, says this size, and which holds next to no data.
fn png_that_claims(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(&DynamicImage::new_rgba8(1, 1));
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

/// The sample with another size in its frame header.
fn jpeg_that_claims(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = sample();
    let frame = bytes.windows(2).position(|pair| pair == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

#[test]
fn files_that_are_no_pictures() {
    is_refused("empty.jpg", b"", "is empty");
    is_refused("text.png", b"This is not a picture.\n", "neither a PNG nor a JPEG");
    is_refused("short.png", b"\x89P", "neither a PNG nor a JPEG");
    is_refused("other.gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "neither a PNG nor a JPEG");
}

#[test]
fn paths_that_are_no_files() {
    for (path, words) in [("no/such.jpg", "No such file"), ("samples", "directory")] {
        let outcome = run(&[path, "--cuda", "off"], &[]);
        assert_eq!((outcome.code, outcome.out.as_str()), (3, ""), "{outcome:?}");
        assert!(outcome.complaint().contains(words) && outcome.err.contains(path), "{outcome:?}");
    }
}

#[test]
fn a_jpeg_cut_anywhere_is_cut_off() {
    let whole = sample();
    for end in [3, 20, 300, 700, whole.len() / 2, whole.len() - 1] {
        is_refused("cut.jpg", &whole[..end], "cut off");
    }
}

#[test]
fn a_thumbnails_end_is_not_the_pictures() {
    let mut cut = sample();
    cut.truncate(cut.len() / 2);
    // An APP1 segment that holds an end marker, before everything else.
    cut.splice(2..2, [0xFF, 0xE1, 0, 6, 0xFF, 0xD8, 0xFF, 0xD9]);
    is_refused("thumbnail.jpg", &cut, "cut off");
}

#[test]
fn a_png_cut_anywhere_is_damaged() {
    let whole = png(&image::load_from_memory(&sample()).unwrap());
    for end in [8, 20, 40, whole.len() / 2, whole.len() * 9 / 10] {
        is_refused("cut.png", &whole[..end], "is damaged");
    }
}

/// By then the tensor is registered with CUDA.
#[test]
fn damage_found_while_decoding_leaves_nothing_behind() {
    let whole = png(&image::load_from_memory(&sample()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.png");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let outcome = run(&[path.to_str().unwrap(), "--cuda", "simulate"], &[("EDGEFIRST_CUDA_SIM", "fail-at-exit")]);
    assert_eq!(outcome.code, 3, "{outcome:?}");
}

#[test]
fn flipped_bytes_are_damage_or_another_picture_but_no_crash() {
    for whole in [sample(), png(&DynamicImage::new_rgb8(64, 64))] {
        for position in (2..whole.len().min(700)).step_by(23) {
            let mut bytes = whole.clone();
            bytes[position] ^= 0x55;
            let (_folder, _, outcome) = outcome_of("flipped", &bytes);
            assert!(matches!(outcome.code, 0 | 3), "byte {position}: {outcome:?}");
        }
    }
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_asked_for() {
    let limit = "the limit is 32768 each way and 536870912 bytes in all";
    is_refused("huge.png", &png_that_claims(0x7FFF_FFFF, 0x7FFF_FFFF), limit);
    is_refused("wide.png", &png_that_claims(32_769, 1), limit);
    is_refused("heavy.png", &png_that_claims(32_768, 32_768), "32768 x 32768");
    is_refused("huge.jpg", &jpeg_that_claims(0xFFFF, 0xFFFF), "65535 x 65535");
    is_refused("none.png", &png_that_claims(0, 5), "is damaged");
    is_refused("none.jpg", &jpeg_that_claims(0, 5), "is damaged");
}

/// Every kind of pixel that these files have, down to the odd ones.
#[test]
fn every_kind_of_pixel_is_taken() {
    for (picture, format) in [
        (DynamicImage::new_luma8(5, 3), "grey, shape [3, 5, 1]"),
        (DynamicImage::new_luma16(5, 3), "grey, shape [3, 5, 1]"),
        (DynamicImage::new_luma_a8(5, 3), "RGBA, shape [3, 5, 4]"),
        (DynamicImage::new_luma_a16(5, 3), "RGBA, shape [3, 5, 4]"),
        (DynamicImage::new_rgb8(5, 3), "RGB, shape [3, 5, 3]"),
        (DynamicImage::new_rgb16(5, 3), "RGB, shape [3, 5, 3]"),
        (DynamicImage::new_rgba8(5, 3), "RGBA, shape [3, 5, 4]"),
        (DynamicImage::new_rgba16(5, 3), "RGBA, shape [3, 5, 4]"),
    ] {
        let (_folder, _, outcome) = outcome_of("odd.png", &png(&picture));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.entry("tensor").starts_with(format), "{picture:?}: {outcome:?}");
    }
}
