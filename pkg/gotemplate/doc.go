// Package gotemplate executes the templates of text/template on JSON values: objects,
// lists, strings, numbers, booleans and null.
//
// The language, its parser and its results are those of text/template; a fuzz test
// compares the two. Only methods are missing, which such values do not have. Because
// text/template calls methods by names known only at run time, a program that links it
// has to keep every exported method of every type: 10 MB here.
package gotemplate
