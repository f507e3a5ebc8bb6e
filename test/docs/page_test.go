package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// Page is a Markdown page as lines, with its marked blocks.
type Page struct {
	Name   string
	Lines  []string
	Blocks []Block
	// Needs lists the page's requirements, such as "webhook".
	Needs []string
}

// Kind is the purpose of a block.
type Kind string

// The kinds of blocks.
const (
	Console  Kind = "console"  // commands and their output
	Script   Kind = "script"   // run, but not compared
	Synopsis Kind = "synopsis" // how a verb is called
	File     Kind = "file"     // written to a file
	Picture  Kind = "picture"  // commands whose output is drawn
	NotRun   Kind = "not run"  // cannot be run here, with the reason
	Data     Kind = "data"     // nothing to run
)

// Block is a marked part of a page.
type Block struct {
	Kind Kind
	// Name is the path of a File, the name of a Picture, or the reason of a NotRun.
	Name string
	// First and End are the range of content lines, from 0; End is excluded.
	First, End int
	// Indent is the indentation of each line.
	Indent string
}

var (
	fence   = regexp.MustCompile("^(\\s*)```+\\s*([\\w-]*)")
	comment = regexp.MustCompile(`^\s*<!-- (run|file|picture|not run:|needs:)\s*(.*)$`)
	named   = regexp.MustCompile(`^# ([\w./-]+\.(?:ya?ml|json|sh|txt|jq|tf))$`)
)

// Parse reads a page. A block without a kind is an error: it would never be checked.
func Parse(name, text string) (*Page, error) {
	p := &Page{Name: name, Lines: strings.Split(text, "\n")}
	reason := ""
	for i := 0; i < len(p.Lines); i++ {
		line := p.Lines[i]
		if m := comment.FindStringSubmatch(line); m != nil {
			message, closed := strings.CutSuffix(strings.TrimSpace(m[2]), "-->")
			message = strings.TrimSpace(message)
			switch m[1] {
			case "not run:":
				reason = message
				for ; !closed; i++ {
					if i+1 == len(p.Lines) {
						return nil, fmt.Errorf("%s:%d: a comment without an end", name, i+1)
					}
					var more string
					more, closed = strings.CutSuffix(strings.TrimSpace(p.Lines[i+1]), "-->")
					reason += " " + strings.TrimSpace(more)
				}
				if strings.TrimSpace(reason) == "" {
					return nil, fmt.Errorf("%s:%d: marked as not run without a reason", name, i+1)
				}
				continue
			case "needs:":
				p.Needs = append(p.Needs, message)
				continue
			}
			end, err := p.until(i+1, "-->")
			if err != nil {
				return nil, err
			}
			kind := map[string]Kind{"run": Script, "file": File, "picture": Picture}[m[1]]
			p.Blocks = append(p.Blocks, Block{Kind: kind, Name: message, First: i + 1, End: end})
			i = end
			continue
		}
		m := fence.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		end, err := p.until(i+1, "```")
		if err != nil {
			return nil, err
		}
		b := Block{First: i + 1, End: end, Indent: m[1]}
		if err := p.classify(&b, m[2], reason); err != nil {
			return nil, err
		}
		p.Blocks = append(p.Blocks, b)
		reason, i = "", end
	}
	return p, nil
}

func (p *Page) classify(b *Block, language, reason string) error {
	text := p.Text(*b)
	switch {
	case reason != "":
		b.Kind, b.Name = NotRun, strings.TrimSpace(reason)
	case language == "console":
		b.Kind = Console
	case language == "sh", language == "bash":
		b.Kind = Script
	case language == "text":
		b.Kind = Synopsis
	case language == "":
		return fmt.Errorf("%s:%d: say what the block is: console, sh, text, yaml, …", p.Name, b.First)
	default:
		b.Kind = Data
	}
	first, _, _ := strings.Cut(text, "\n")
	if m := named.FindStringSubmatch(first); m != nil && reason == "" && b.Kind != Console {
		b.Kind, b.Name = File, m[1]
	}
	return nil
}

// Text returns the block's content without its indentation.
func (p *Page) Text(b Block) string {
	lines := make([]string, 0, b.End-b.First)
	for _, line := range p.Lines[b.First:b.End] {
		lines = append(lines, strings.TrimPrefix(line, b.Indent))
	}
	return strings.Join(lines, "\n")
}

func (p *Page) until(from int, mark string) (int, error) {
	for i := from; i < len(p.Lines); i++ {
		if strings.HasPrefix(strings.TrimSpace(p.Lines[i]), mark) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s:%d: a block without an end", p.Name, from)
}

// Step is a command and its expected output.
type Step struct {
	Command string
	// Shown is the output; First and End are its lines in the block's text.
	Shown      []string
	First, End int
}

// Steps parses a console block. A command continues after a backslash at the end of a line, and
// within quotes.
func Steps(text string) ([]Step, error) {
	var steps []Step
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		command, is := strings.CutPrefix(lines[i], "$ ")
		if !is {
			return nil, fmt.Errorf("output without a command: %q", lines[i])
		}
		for i++; unfinished(command) && i < len(lines); i++ {
			command += "\n" + lines[i]
		}
		s := Step{Command: command, First: i}
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			s.Shown = append(s.Shown, lines[i])
			i++
		}
		s.End = i
		steps = append(steps, s)
	}
	return steps, nil
}

func unfinished(command string) bool {
	if strings.HasSuffix(command, `\`) {
		return true
	}
	var quote rune
	for i, r := range command {
		switch {
		case quote == 0 && (r == '\'' || r == '"') && (i == 0 || command[i-1] != '\\'):
			quote = r
		case r == quote:
			quote = 0
		}
	}
	return quote != 0
}
