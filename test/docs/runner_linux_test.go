package docs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience is the limit for a command. Commands on pages are short: it allows for busy machines.
const patience = 5 * time.Minute

// Reader runs pages.
type Reader struct {
	// Dir is the initial folder of a page's commands.
	Dir string
	// Environment is the complete environment of the commands.
	Environment []string
	// Home is the home folder of the commands, shown as "~" in outputs.
	Home string
	// Update rewrites stale outputs and pictures.
	Update bool
	// Draw receives the pictures: a name and the lines of a terminal.
	Draw func(name string, lines [][]Span) error
}

// Count contains the number of blocks by result.
type Count struct {
	Commands, Scripts, Files, Pictures int
	NotRun                             []string // the reason
}

// Read runs a page from its beginning to its end, and returns its faults.
func (r Reader) Read(ctx context.Context, p *Page) (count Count, faults []string, err error) {
	shell, err := StartShell(ctx, r.Dir, r.Environment)
	if err != nil {
		return count, nil, err
	}
	defer shell.Close()
	fresh := slices.Clone(p.Lines)
	shift := 0 // by how much fresh is longer than the page so far
	for _, b := range p.Blocks {
		where := fmt.Sprintf("%s:%d", p.Name, b.First+1)
		text := p.Text(b)
		switch b.Kind {
		case Synopsis, Data: // nothing to run
		case NotRun:
			count.NotRun = append(count.NotRun, where+": "+b.Name)
		case File:
			count.Files++
			if err := write(filepath.Join(r.Dir, b.Name), text+"\n"); err != nil {
				return count, faults, err
			}
		case Script:
			count.Scripts++
			sent, status, err := shell.Run(strict(text), patience)
			if err == nil && status != 0 {
				err = fmt.Errorf("exit status %d", status)
			}
			if err != nil {
				return count, append(faults, fmt.Sprintf("%s: %v of\n%s\n%s", where, err, text, message(sent))), nil
			}
		case Picture:
			count.Pictures++
			if err := r.picture(shell, b, text); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", where, err))
			}
		case Console:
			steps, err := Steps(text)
			if err != nil {
				return count, faults, fmt.Errorf("%s: %w", where, err)
			}
			for _, s := range steps {
				count.Commands++
				sent, _, err := shell.Run(s.Command, patience)
				got := Plain(Screen(strings.ReplaceAll(sent, r.Home, "~")))
				if err != nil {
					return count, append(faults, fmt.Sprintf("%s: %v: $ %s\n%s", where, err, s.Command, message(sent))), nil
				}
				if Same(s.Shown, got) {
					continue
				}
				first, end := b.First+shift+s.First, b.First+shift+s.End
				faults = append(faults, fmt.Sprintf("%s:%d: $ %s\nthe page says:\n%s\nit is:\n%s", p.Name, b.First+s.First, s.Command,
					indented(s.Shown), indented(got)))
				renewed := Renewed(s.Shown, got)
				for i, line := range renewed {
					renewed[i] = strings.TrimRight(b.Indent+line, " ")
				}
				fresh = slices.Replace(fresh, first, end, renewed...)
				shift += len(renewed) - (end - first)
			}
		}
	}
	if r.Update && !slices.Equal(fresh, p.Lines) {
		p.Lines = fresh
		return count, nil, nil
	}
	return count, faults, nil
}

// strict makes a script fail if any of its commands fails, and not only the last one. The shell does not
// end, because later blocks need its variables. The script calls "fails COMMAND" where a command has to
// fail: bash does not count a failed "! COMMAND".
func strict(script string) string {
	return `fails() { if "$@"; then echo "did not fail: $*" >&2; return 1; fi; }; failed=0; trap 'failed=$?; echo "failed: $BASH_COMMAND" >&2' ERR; set -E
` + script + `
last=$?; trap - ERR; set +E; (exit $((failed != 0 ? failed : last)))`
}

// picture draws commands and their output.
func (r Reader) picture(shell *Shell, b Block, text string) error {
	steps, err := Steps(text)
	if err != nil {
		return err
	}
	var lines [][]Span
	for _, s := range steps {
		sent, _, err := shell.Run(s.Command, patience)
		if err != nil {
			return fmt.Errorf("%w: $ %s", err, s.Command)
		}
		for i, line := range strings.Split(s.Command, "\n") {
			prompt := Span{Style: Style{Color: 3, Bold: true}, Text: "$ "}
			if i > 0 {
				prompt.Text = ""
			}
			lines = append(lines, []Span{prompt, {Style: Style{Bold: true}, Text: line}})
		}
		lines = append(append(lines, Screen(strings.ReplaceAll(sent, r.Home, "~"))...), nil)
	}
	return r.Draw(b.Name, lines[:max(len(lines)-1, 0)])
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

func message(sent string) string { return indented(Plain(Screen(sent))) }

func indented(lines []string) string { return "    " + strings.Join(lines, "\n    ") }
