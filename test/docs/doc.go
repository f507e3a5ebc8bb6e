// Package docs runs the commands that README.md and the pages of docs/ show. It types the
// commands of a page into a shell on a terminal, one after the other, in a folder of the
// page's own and on a real control plane; their output has to be what the page says. So a
// page cannot promise what the program does not do.
//
// CONTRIBUTING.md says how a page marks its blocks. In short: a fenced block is
//
//	console   commands after "$ ", each with what it prints; run and compared
//	sh        a script; run, and has to end with status 0
//	text      a synopsis: its verb and its flags have to exist
//	others    data; with a first line like "# web.yaml" it is written to that file
//
// and comments, which readers do not see, prepare and except:
//
//	<!-- run            a script that is run and not shown
//	<!-- file NAME      a file that is written and not shown
//	<!-- picture NAME   commands whose output is drawn: docs/images/NAME-light.svg
//	<!-- not run: WHY   the next block cannot be run here
//	<!-- needs: webhook the page is run with the webhook installed
package docs
