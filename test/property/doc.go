// Package property checks the plugin's predictions of an apply against the result of
// apimachinery's own field manager, over random objects with random histories: several
// managers and versions, lists owned in part, parts without a schema, nulls and empties,
// values in two spellings, managed fields that were cleared or edited by hand.
//
// Each property looks at CASES histories (60 in `make test`, 300 in `make test-full`, 20 among
// the unit tests alone; `make test-long` takes tens of thousands),
// from the one that SEED names onwards. A failure names its seed; SEED=… CASES=1 repeats it.
package property
