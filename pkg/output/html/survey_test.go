package html

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

var when = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// surveyOf returns a survey in which every table has rows. say returns each text that comes from
// the cluster.
func surveyOf(say string) event.Surveyed {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "shop", Name: say}
	owner := managedfields.Owner{Manager: say, Operation: "Update", Subresource: say}
	of := []event.ObjectHolding{{Ref: ref, Manager: say, Fields: event.Fields{All: 2, Shared: 1}, Paths: []event.FieldName{event.FieldName(say)}}}
	versioned := owner
	versioned.APIVersion = say
	return event.Surveyed{
		Objects: 1, Where: " in the namespace " + say, From: []string{say}, Expecting: true,
		Managers:   []event.ManagerHolding{{Manager: say, Kinds: 1, Objects: 1, Fields: event.Fields{All: 2}}},
		Holdings:   []event.KindHolding{{Owner: owner, Kind: schema.GroupKind{Group: say, Kind: say}, Objects: 1}},
		Unexpected: of, Leaving: of,
		Unserved: []event.VersionHolding{{Owner: versioned, Kind: schema.GroupKind{Kind: say}, Objects: 3}},
		Unread:   []event.Unread{{Ref: ref, Err: errors.New(say)}},
	}
}

// The page has the same elements and attributes for any names in a cluster, and shows these names.
func TestHostileNames(t *testing.T) {
	tame := shapeOf(t, surveyOf("flux"))
	pieces := []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "'", "</td></table>", "<!--", "-->", "]]>", "{{.Title}}", "&lt;", "&#60;",
		"</style><script>", "</script>", "javascript:", "\u2028", "\u202e", "\x00", "\ufffd", "\n", "`", "${x}", "é", "a", " ", "<svg/onload=x>", "</title>",
	}
	random := rand.New(rand.NewPCG(1, 2))
	names := 500
	if testing.Short() {
		names = 100
	}
	for range names {
		var b strings.Builder
		for range 1 + random.IntN(5) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		name := b.String()
		s := surveyOf(name)
		if got := shapeOf(t, s); !slices.Equal(tame, got) {
			t.Fatalf("%q changes the page:\n%v\n%v", name, tame, got)
		}
		doc, err := html.Parse(strings.NewReader(render(s, when)))
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for n := range doc.Descendants() {
			if n.Type == html.TextNode && n.Data == text.Printable(name) {
				shown++
			}
		}
		if want := text.Printable(name); want != "" && shown < 3 {
			t.Fatalf("%q is shown %d times, want at least 3", want, shown)
		}
	}
}

// shapeOf returns the elements of a page with their attributes.
func shapeOf(t *testing.T, s event.Surveyed) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(render(s, when)))
	if err != nil {
		t.Fatal(err)
	}
	var shape []string
	for n := range doc.Descendants() {
		switch n.Type {
		case html.ElementNode:
			line := n.Data
			for _, a := range n.Attr {
				line += " " + a.Key + "=" + a.Val
			}
			shape = append(shape, line)
		case html.CommentNode:
			shape = append(shape, "a comment")
		}
	}
	return shape
}

// The only address in the page is that of the empty icon.
func TestPageLinksToNothing(t *testing.T) {
	for _, line := range shapeOf(t, surveyOf("flux")) {
		for _, attribute := range []string{" src=", " href=", " action=", " style=", " on"} {
			if strings.Contains(line, attribute) && !strings.Contains(line, `href=data:,`) {
				t.Errorf("%s", line)
			}
		}
	}
}

// The head of the page says whether the survey is complete, and explains the colour.
func TestHeadOfPage(t *testing.T) {
	s := surveyOf("flux")
	for _, want := range []string{
		"1 object in the namespace flux, 1 manager, 1 with unexpected owners, 1 not read.",
		"Coloured: a manager that was not expected; its objects are listed below.",
	} {
		if !strings.Contains(render(s, when), want) {
			t.Errorf("no %q", want)
		}
	}
	s.Unexpected, s.Unread = nil, nil
	page := render(s, when)
	if !strings.Contains(page, "1 manager, nothing unexpected.") || strings.Contains(page, "Coloured") || strings.Contains(page, "not read") {
		t.Error("the head reports unexpected owners or unread objects although there are none")
	}
}

// An empty survey gives a complete page that says so.
func TestPageOfEmptySurvey(t *testing.T) {
	for _, s := range []event.Surveyed{{}, {Where: " in the cluster", Expecting: true, From: []string{"flux"}}} {
		got := render(s, when)
		if !strings.Contains(got, "0 objects") || !strings.HasSuffix(got, "</html>\n") || strings.Count(got, "<tbody>") != strings.Count(got, "</tbody>") {
			t.Error(got)
		}
		if doc, err := html.Parse(strings.NewReader(got)); err != nil || doc == nil {
			t.Error(err)
		}
	}
}
