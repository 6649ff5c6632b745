//! Files of models, compared without what differs from run to run.

use serde_json::Value;

/// Arrays of a model or checkpoint that hold times.
const TIMES: [&str; 3] = ["trace_seconds", "running.numbers", "running.best.trace"];

/// A model or a checkpoint that holds times, with these set to zero and without its checksum and the length of its header; other
/// files unchanged, so that they can be written again.
pub fn without_times(mut file: Vec<u8>) -> Vec<u8> {
    let header = file.first_chunk().map(|length| u64::from_le_bytes(*length) as usize);
    let Some(length) = header.filter(|length| *length < file.len()) else { return file };
    let Some(Ok(mut header)) = file.get(8..8 + length).map(serde_json::from_slice::<Value>) else {
        return file;
    };
    if TIMES.iter().all(|times| header[times].is_null()) {
        return file;
    }
    for times in TIMES {
        let offset =
            |which: usize| header[times]["data_offsets"][which].as_u64().map(|at| 8 + length + at as usize);
        if let (Some(start), Some(end)) = (offset(0), offset(1))
            && let Some(times) = file.get_mut(start..end)
        {
            times.fill(0);
        }
    }
    if let Some(metadata) = header["__metadata__"].as_object_mut() {
        metadata.remove("checksum");
    }
    [header.to_string().as_bytes(), &file[8 + length..]].concat()
}
