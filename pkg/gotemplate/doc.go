// Package gotemplate executes the templates of text/template on what JSON can hold:
// objects, lists, strings, numbers, booleans and null.
//
// The language, its parser and its results are those of text/template; a fuzz test holds
// one against the other. What is missing is what such values do not have: methods. Since
// text/template calls methods by names that it reads when it runs, a program that
// links it has to keep every exported method of every type: 10 MB here.
package gotemplate
