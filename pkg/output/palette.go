package output

import (
	"fmt"
	"strings"

	"github.com/fatih/color"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Palette colours texts, or leaves them as they are. A colour never says what the text does not.
type Palette struct {
	good, Change, gone, bad, Faint, Bold, hunk *color.Color
	// hues distinguish values that are neither good nor bad.
	hues []*color.Color
}

// NewPalette returns the colours, which leave texts alone unless enabled.
func NewPalette(enabled bool) Palette {
	use := func(attributes ...color.Attribute) *color.Color {
		c := color.New(attributes...)
		if enabled {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return Palette{
		good:   use(color.FgGreen),
		Change: use(color.FgYellow),
		gone:   use(color.FgRed),
		bad:    use(color.FgRed, color.Bold),
		Faint:  use(color.Faint),
		Bold:   use(color.Bold),
		hunk:   use(color.FgCyan),
		hues: []*color.Color{
			use(color.FgGreen), use(color.FgYellow), use(color.FgCyan), use(color.FgMagenta), use(color.FgBlue), use(color.FgRed),
		},
	}
}

// Hue returns the nth hue; they repeat.
func (p Palette) Hue(n int) *color.Color { return p.hues[n%len(p.hues)] }

// Action colours the word for a result.
func (p Palette) Action(a event.Action, text string) string {
	switch a {
	case event.Created, event.Create, event.Met, event.Restored:
		return p.good.Sprint(text)
	case event.Configured, event.Update, event.Recreated, event.Recreate, event.Share, event.Shared, event.Pruned, event.Delete, event.Gone, event.Handed:
		return p.Change.Sprint(text)
	case event.InConflict, event.Failed, event.Unknown, event.Remains, event.TimedOut, event.Kept:
		return p.bad.Sprint(text)
	case event.Unchanged, event.Skipped, event.None, event.Absent, event.Unmet, event.Unselected:
		return p.Faint.Sprint(text)
	default:
		return text
	}
}

// DiffLine colours one line of a unified diff by its first character.
func (p Palette) DiffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return p.hunk.Sprint(line)
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return p.Faint.Sprint(line)
	case strings.HasPrefix(line, "-"):
		return p.gone.Sprint(line)
	case strings.HasPrefix(line, "+"):
		return p.good.Sprint(line)
	default:
		return line
	}
}

// UseColor decides about colour from the --color flag (auto, always or never; empty is auto), from
// whether the output is a terminal, and from NO_COLOR (https://no-color.org) and TERM, which an
// explicit flag overrides.
func UseColor(mode string, terminal bool, getenv func(string) string) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	default:
		return false, fmt.Errorf("unknown colour mode %q: use auto, always or never", mode)
	}
}

// CanRedraw reports whether live progress can be shown: stderr is a terminal that can go back to
// the start of a line.
func CanRedraw(terminal bool, getenv func(string) string) bool {
	return terminal && getenv("TERM") != "dumb"
}
