// Package text makes lines for people out of texts that anybody may have written: a
// manager's name, a container's last words, a server's message.
//
//   - [Printable] is for a name or a value that is shown as it is.
//   - [OneLine] is for prose: one line, without the colours that programs set.
//   - [Excerpt] is OneLine of a sane length, for evidence.
//   - [ShellQuote] is for a word of a command that somebody will paste.
//   - [Truncate] and [TruncateMiddle] shorten, [Count] and [List] word numbers and names,
//     [Nearest] finds the word that was probably meant.
//
// What a terminal would obey or hide is spelled out, never passed on and never dropped
// in silence; docs/design/text.md says why. The package knows no words of its own, and no
// widths of terminals.
package text
