//! The image of the `Containerfile`, built from the files of the program's archive and tried, where buildah is there.
//! It is not a package: a registry makes images from the file.

use std::fs;
use std::process::Command;

use super::outcome::{Line, Outcome};
use super::place::{Place, VERSION, megabytes};
use super::program::{contents, on_path};
use super::targets::TARGETS;
use super::trial::{data, output};
use crate::workspace::root;

/// Builds the image without a registry and runs the program in it.
pub(super) fn make(place: &Place) -> Vec<Line> {
    vec![Line::of("image of the Containerfile", build(place))]
}

fn build(place: &Place) -> Result<Outcome, String> {
    if on_path("buildah").is_none() {
        return Ok(Outcome::Skipped("buildah is not installed (the package buildah of Debian)".to_owned()));
    }
    let context = contents(place, &TARGETS[0]).filter(|folder| folder.is_dir());
    let context = context.ok_or("there is no program; make it with `cargo xtask dist programs container`")?;
    let storage = place.emptied("containers")?;
    // In a folder of its own, without kernel features that a container in a container lacks.
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command.arg("--root").arg(storage.join("root")).arg("--runroot").arg(storage.join("run"));
        command.args(["--storage-driver", "vfs"]).args(arguments);
        command
    };
    let tag = format!("karhunen:{VERSION}");
    let file = root().join("Containerfile");
    let mut build = buildah(&["build", "--isolation", "chroot", "--tag", &tag, "--file"]);
    output(build.arg(file).arg(&context))?;
    let image = output(&mut buildah(&["inspect", "--type", "image", "--format", "{{.FromImageID}}", &tag]))?;
    let id = String::from_utf8_lossy(&image.stdout).trim().to_owned();
    let made = output(&mut buildah(&["from", "--isolation", "chroot", &tag]))?;
    let container = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let (file, fit, share) = data();
    output(buildah(&["copy", &container]).arg(&file).arg("/data/"))?;
    let mut run = buildah(&["run", "--isolation", "chroot", &container, "--", "/bin/karhunen"]);
    let printed = output(run.args(fit))?;
    if !String::from_utf8_lossy(&printed.stdout).contains(share) {
        return Err(format!("the program printed no {share}"));
    }
    let size = fs::metadata(context.join("bin/karhunen")).map_err(|error| error.to_string())?.len();
    let id = id.get(..12).unwrap_or(&id);
    Ok(Outcome::Made(format!(
        "{id} by buildah, with a program of {}; tried by `buildah run`",
        megabytes(size)
    )))
}
