// Package yamldoc reads the text of one object, or of one list of them: it cuts a text into its
// documents, decodes each to what kubectl would make of it (YAML 1.1, whole numbers as int64), and
// finds the place of any field in it. A text that kubectl accepts silently and that would be lost
// is a fault, with its line: a duplicate key, text after the end of the value, aliases that expand
// to more than any server takes.
package yamldoc
