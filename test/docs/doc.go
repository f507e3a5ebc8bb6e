// Package docs runs the commands that README.md and the pages of docs/ show. It types the commands
// of a page into a shell on a terminal, in a folder of the page's own and on a real control plane.
// Their output has to be what the page says. CONTRIBUTING.md says how a page marks its blocks.
package docs
