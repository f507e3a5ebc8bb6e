// Package property checks the plugin's predictions of an apply against the result of apimachinery's
// own field manager, over random objects with random histories.
//
// Each property looks at CASES histories, from the one that SEED names onwards. A failure names its
// seed; SEED=… CASES=1 repeats it.
package property
