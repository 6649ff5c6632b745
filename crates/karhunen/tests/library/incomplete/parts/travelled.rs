//! Tasks and results that travel: read as they were written, or refused if they are damaged.

use std::sync::Mutex;

use karhunen::Result;
use karhunen::cluster::{Engine, Partial, Task};
use karhunen::record::Recorded;

use crate::incomplete::parts::engine::{Parts, travelled};
use crate::incomplete::parts::{SIZES, problem, variational};

/// Checks that no record from which a value or a row of an array was lost is read.
#[track_caller]
fn assert_damage_is_found<M: Recorded>(content: &M) {
    let record = content.to_record().unwrap();
    for at in 0..record.arrays.len() {
        let mut without = record.clone();
        let array = without.arrays.remove(at);
        assert!(M::from_record(&mut without).is_err(), "{} is lost", array.name);
        // The number of features of a task is compared with the columns of each part.
        let first = usize::from(array.name == "table");
        for axis in first..array.shape.len() {
            let mut shape = array.shape.clone();
            shape[axis] -= 1;
            let mut shorter = record.clone();
            shorter.arrays.remove(at);
            shorter.put(&array.name, &shape, vec![0.5; shape.iter().product()]);
            assert!(M::from_record(&mut shorter).is_err(), "{} of shape {shape:?}", array.name);
        }
        let mut infinite = record.clone();
        infinite.arrays.remove(at);
        infinite.put(&array.name, &array.shape, vec![f64::NEG_INFINITY; array.shape.iter().product()]);
        assert!(M::from_record(&mut infinite).is_err(), "{} is infinite", array.name);
    }
}

/// Checks what travels in passes over the posteriors of scores.
struct Checked {
    parts: Parts,
    n_checked: Mutex<usize>,
}

impl Engine for Checked {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        let of_task = task.to_record()?;
        let partial = self.parts.reduce(task)?;
        if of_task.arrays.iter().any(|array| array.name == "table") {
            assert_eq!(travelled(task)?, *task);
            assert_eq!(travelled(&partial)?, partial);
            assert_damage_is_found(task);
            assert_damage_is_found(&partial);
            *self.n_checked.lock().unwrap() += 1;
        }
        Ok(partial)
    }
}

#[test]
fn what_travels_is_read_as_it_was_written_or_refused() {
    let checked = Checked { parts: Parts::new(&problem(), &SIZES), n_checked: Mutex::default() };
    variational(2, 3).fit_parts(&checked).unwrap();
    assert_eq!(*checked.n_checked.lock().unwrap(), 4);
}
