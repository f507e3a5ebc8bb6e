package printer_test

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func usesOfDeprecated() event.Deprecations {
	driver := managedfields.Owner{Manager: "dra-driver", Operation: managedfields.Update, APIVersion: "resource.k8s.io/v1beta1", Time: noon().Add(-4 * time.Minute)}
	return event.Deprecations{
		Release: "1.38", Server: "1.37", Left: 9, Hint: "they do no harm",
		Uses: []event.DeprecatedUse{
			{
				Ref: ref("resource.k8s.io/v1beta1", "ResourceClaim", "shop", "gpu"), Goes: true, Since: "1.35", Removed: "1.38",
				Text: "resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1",
				Use:  schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}, Writers: []managedfields.Owner{driver},
				Sources: []object.Source{{File: "shop/web.yaml", Line: 12}}, Releases: []event.HelmRevision{{Namespace: "shop", Name: "web", Revision: 7}},
			},
			{
				Ref: ref("v1", "Service", "shop", "a|b"), Path: ".spec.loadBalancerIP", Since: "1.24",
				Text: ".spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider", Sources: []object.Source{{File: "web.yaml", Line: 20}},
			},
		},
		Stored: []event.StoredVersions{{Definition: "gears.example.com", Versions: []string{"v1beta1"}, Storage: "v1", Why: "objects may be stored at v1beta1", Next: []string{"rewrite them"}}},
		Unread: []event.Unread{{Ref: ref("v1", "Secret", "shop", ""), Err: errors.New("no")}},
	}
}

func TestDeprecatedTable(t *testing.T) {
	const want = `resourceclaim.resource.k8s.io/gpu -n shop  resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1
    dra-driver (Update, 4m ago) still writes it
    shop/web.yaml:12
    Helm release shop/web, revision 7
deprecated, but still in 1.38
service/a|b -n shop  .spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider
    web.yaml:20
customresourcedefinition.apiextensions.k8s.io/gears.example.com
    objects may be stored at v1beta1
    rewrite them
1 writer, 1 file, 1 release blocking 1.38; 1 deprecated but not removed; 9 old entries that their managers no longer write; 1 not read
they do no harm
`
	if got := run(t, printer.OfDeprecated, output.Options{Now: noon}, []event.Event{usesOfDeprecated()}).out; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := run(t, printer.OfDeprecated, output.Options{}, []event.Event{event.Deprecations{Release: "1.38"}}).out; got != "nothing uses an API that 1.38 removes\n" {
		t.Error(got)
	}
	many := usesOfDeprecated()
	for range 40 {
		many.Uses = append(many.Uses, many.Uses[1])
	}
	got := run(t, printer.OfDeprecated, output.Options{Width: columns(80)}, []event.Event{many}).out
	if !strings.Contains(got, "\nand 21 more uses; -v 1 shows all\n") || strings.Count(got, "service/") != 20 {
		t.Error(got)
	}
}

func TestDeprecatedMarkdown(t *testing.T) {
	const want = `| Removed in | Object | Deprecated | Where |
| --- | --- | --- | --- |
| 1.38 | resourceclaim.resource.k8s.io/gpu -n shop | resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1 | dra-driver (Update, 4m ago) still writes it<br>shop/web.yaml:12<br>Helm release shop/web, revision 7 |
|  | service/a\|b -n shop | .spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider | web.yaml:20 |
|  | customresourcedefinition.apiextensions.k8s.io/gears.example.com | objects may be stored at v1beta1<br>rewrite them |  |

1 writer, 1 file, 1 release blocking 1.38; 1 deprecated but not removed; 9 old entries that their managers no longer write; 1 not read

not read: secret -n shop: no
`
	if got := run(t, printer.OfDeprecated, output.Options{Format: output.Markdown, Now: noon}, []event.Event{usesOfDeprecated()}).out; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDeprecatedDocuments(t *testing.T) {
	broken := event.LeftOut{Err: errors.New("x.yaml:1: not YAML")}
	got := run(t, printer.OfDeprecated, output.Options{Format: output.JSON, Now: noon}, []event.Event{broken, usesOfDeprecated()}).out
	for _, want := range []string{
		`"kind": "DeprecatedResult"`, `"release": "1.38"`, `"server": "1.37"`, `"goes": true`, `"removed": "1.38"`, `"use": "resource.k8s.io/v1/ResourceClaim"`,
		`"manager": "dra-driver"`, `"shop/web.yaml:12"`, `"revision": 7`, `"path": ".spec.loadBalancerIP"`, `"oldEntries": 9`, `"definition": "gears.example.com"`,
		`"message": "x.yaml:1: not YAML"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	got = run(t, printer.OfDeprecated, output.Options{Format: output.JUnit, Now: noon}, []event.Event{broken, usesOfDeprecated()}).out
	var suites struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(got), &suites); err != nil || suites.Suite.Tests != 5 || suites.Suite.Failures != 1 || suites.Suite.Errors != 2 {
		t.Errorf("%v: %+v\n%s", err, suites, got)
	}
	if _, err := printer.For(printer.OfDeprecated, output.Options{Format: output.YAML}); err == nil {
		t.Error("-o yaml")
	}
}

// A CI job shows each use in its file.
func TestDeprecatedAnnotations(t *testing.T) {
	annotate := func(level string, at object.Source, message string) string {
		return level + " " + at.String() + " " + message
	}
	got := run(t, printer.OfDeprecated, output.Options{Annotate: annotate}, []event.Event{usesOfDeprecated()}).err
	const want = "warning shop/web.yaml:12 resourceclaim.resource.k8s.io/gpu -n shop: resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1\n"
	if !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}
