package output

import (
	"fmt"
	"strings"

	"github.com/fatih/color"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Palette colours text. Colours never carry information that the text lacks.
type Palette struct {
	good, Change, gone, bad, Faint, Bold, hunk *color.Color
	hues                                       []*color.Color
}

// NewPalette returns a palette. If enabled is false, the palette leaves text unchanged.
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

// Hue colours text in the nth hue. The hues repeat after the last one.
func (p Palette) Hue(n int) *color.Color { return p.hues[n%len(p.hues)] }

// Action colours text according to a result.
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

// DiffLine colours a line of a unified diff.
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

// UseColor reports whether to use colour. mode is auto, always or never; empty means auto. In auto
// mode, colour requires a terminal, and NO_COLOR (https://no-color.org) or TERM=dumb turns it off.
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

// CanRedraw reports whether stderr is a terminal on which a status line can be redrawn.
func CanRedraw(terminal bool, getenv func(string) string) bool {
	return terminal && getenv("TERM") != "dumb"
}
