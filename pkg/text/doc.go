// Package text makes lines for people out of untrusted texts: a manager's name, a
// container's last words, a server's message.
//
//   - [Printable] is for a name or a value that is shown as it is.
//   - [OneLine] is for prose: one line, without the colours that programs set.
//   - [Excerpt] is OneLine of a sane length, for evidence.
//   - [ShellQuote] is for a word of a command that people will paste.
//   - [Truncate] and [TruncateMiddle] shorten, [Count] and [List] format numbers and
//     names, [Nearest] finds the word that was probably meant.
//
// Characters that a terminal would obey or hide are spelled out, never passed on and
// never dropped silently; docs/design/text.md says why. The package contains no messages,
// and knows nothing of terminal widths.
package text
