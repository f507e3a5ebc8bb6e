package release

import (
	"fmt"
	"slices"
	"strings"
)

const rule = "--------------------------------------------------------------------------------\n"

// Notices returns the text that has to accompany a program: its parts with their licences.
// Identical texts appear once.
func (s *Software) Notices() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s contains the software below, under the licences that follow the list.\n\n", s.Name)
	var order []string
	of := map[string][]string{}
	for _, m := range s.Modules {
		fmt.Fprintf(&out, "  %s %s (%s)\n", m.Path, m.Version, m.License)
		for _, text := range m.Texts {
			if !slices.Contains(order, text.Content) {
				order = append(order, text.Content)
			}
			of[text.Content] = append(of[text.Content], m.Path+": "+text.File)
		}
	}
	for _, content := range order {
		fmt.Fprintf(&out, "\n%s%s\n%s\n%s", rule, strings.Join(of[content], "\n"), rule, content)
	}
	return out.String()
}
