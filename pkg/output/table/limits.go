package table

// Up to this many objects fit on one screen: all are listed, unchanged or not.
const oneScreen = 20

// manySkipped is how many objects of a phase are listed that were skipped for the
// same reason; more are only counted.
const manySkipped = 3

// manyPaths is how many paths of one sort an object shows; more are only counted.
const manyPaths = 10
