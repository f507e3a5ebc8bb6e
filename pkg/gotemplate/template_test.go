package gotemplate

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"k8s.io/apimachinery/pkg/util/json"
)

// documents are what templates are executed on.
var documents = []string{
	`{"kind":"Deployment","metadata":{"name":"web","labels":{"app":"web","tier":"<front>"},"generation":3,"empty":{}},
	  "spec":{"replicas":5,"ratio":0.5,"paused":false,"nothing":null,"list":["b","a",null,3],"none":[],
	  "containers":[{"name":"app","image":"web:1","ports":[{"port":80},{"port":443}]},{"name":"side"}]}}`,
	`null`,
	`"text"`,
	`[1,2.5,"three",null,{"a":{"b":[]}}]`,
	`{}`,
	`7`,
}

// templates show each part of the language, right and wrong.
var templates = []string{
	`{{.}}`, `plain`, ``, `{{.metadata.name}}`, `{{.metadata}}`, `{{.spec.containers}}`, `{{- .kind -}} x`, `{{/* a */}}b`,
	`{{.absent}}`, `{{.absent.more.still}}`, `{{.spec.nothing}}`, `{{.spec.nothing.more}}`, `{{.kind.more}}`, `{{.spec.list.more}}`,
	`{{.metadata.name 1}}`, `{{1 | .metadata.name}}`, `{{.absent 1}}`, `{{.absent.more 1}}`, `{{(.metadata).name}}`, `{{(.absent).name}}`, `{{(nil).a}}`,
	`{{nil}}`, `{{nil | print}}`, `{{true}}`, `{{1}}`, `{{1.5}}`, `{{1e3}}`, `{{0x1F}}`, `{{'a'}}`, `{{1i}}`, `{{99999999999999999999}}`, `{{"a" 1}}`, `{{1 | 2}}`,
	`{{if .spec.paused}}a{{else}}b{{end}}`, `{{if .spec.replicas}}a{{else if .kind}}b{{else}}c{{end}}`, `{{if not .absent}}a{{end}}`, `{{if .spec.nothing}}a{{else}}b{{end}}`,
	`{{if .spec.nothing.more}}a{{end}}`, `{{if .metadata.empty}}a{{end}}`, `{{if 0.0}}a{{end}}`, `{{if 1i}}a{{end}}`,
	`{{with .metadata}}{{.name}}{{$.kind}}{{end}}`, `{{with .absent}}a{{else}}b{{end}}`, `{{with $x := .spec.replicas}}{{$x}}{{.}}{{end}}`, `{{with .a}}1{{else with .kind}}{{.}}{{end}}`,
	`{{range .spec.containers}}{{.name}},{{.image}};{{end}}`, `{{range $i, $c := .spec.containers}}{{$i}}{{$c.name}}{{end}}`,
	`{{range $k, $v := .metadata.labels}}{{$k}}={{$v}} {{end}}`, `{{range .spec.none}}a{{else}}b{{end}}`, `{{range .absent}}a{{else}}b{{end}}`,
	`{{range .spec.list}}[{{.}}]{{end}}`, `{{range .spec.list}}{{.name}}{{end}}`, `{{range $x := .spec.list}}[{{$x}}{{$x.a}}]{{end}}`, `{{range .kind}}a{{end}}`,
	`{{range .spec.replicas}}{{.}}{{end}}`, `{{range $i := .spec.replicas}}{{$i}}{{end}}`, `{{range $i, $j := .spec.replicas}}{{$i}}{{end}}`, `{{range 0}}a{{else}}b{{end}}`,
	`{{range .spec.list}}{{if eq . "a"}}{{break}}{{end}}{{.}}{{end}}`, `{{range .spec.containers}}{{if .image}}{{continue}}{{end}}{{.name}}{{end}}`,
	`{{range .}}{{.}},{{end}}`, `{{range $i, $e := .}}{{$i}}:{{$e}},{{end}}`, `{{range 2}}{{range 2}}{{break}}{{end}}{{.}}{{end}}`,
	`{{$x := 1}}{{range .spec.list}}{{$x = .}}{{end}}{{$x}}`, `{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}`, `{{$i := 9}}{{$e := 9}}{{range $i, $e = .spec.list}}{{end}}{{$i}}{{$e}}`,
	`{{$x := .metadata}}{{$x.name}}{{$x.a.b}}`, `{{$x := .spec.nothing}}{{$x}}{{$x.a}}`, `{{$x := 1}}{{$x 1}}`, `{{$.kind}}`, `{{$ 1}}`,
	`{{define "a"}}<{{.}}{{$}}>{{end}}{{template "a" .kind}}{{template "a"}}`, `{{template "none"}}`,
	`{{block "a" .kind}}{{.}}{{end}}`, `{{define "a"}}{{break}}{{end}}`, `{{define "a"}}{{$x}}{{end}}`, `{{define "output"}}again{{end}}x`,
	`{{and .kind .metadata.name}}`, `{{and 0 .spec.nothing.more}}`, `{{or .absent "x"}}`, `{{or 1 .spec.nothing.more}}`, `{{and 1 nil}}`, `{{1 | and 0}}`, `{{1 | and 2}}`, `{{or}}`, `{{and .absent 1 | print}}`,
	`{{not 1}}`, `{{not nil}}`, `{{not 1 2}}`, `{{not}}`,
	`{{len .kind}}`, `{{len .spec.list}}`, `{{len .metadata.labels}}`, `{{len .absent}}`, `{{len 3}}`, `{{len nil}}`, `{{len}}`,
	`{{index .spec.list 1}}`, `{{index .spec.list 9}}`, `{{index .spec.list -1}}`, `{{index .metadata.labels "app"}}`, `{{index .metadata.labels "x"}}`, `{{index .metadata.labels "x" "y"}}`,
	`{{index .spec.containers 0 "ports" 1 "port"}}`, `{{index .kind 0}}`, `{{index .spec.list "a"}}`, `{{index .metadata.labels 1}}`, `{{index .absent "a"}}`, `{{index nil}}`, `{{index .kind}}`,
	`{{index .spec.list nil}}`, `{{index .metadata nil}}`, `{{index 3 1}}`, `{{index .spec.list .spec.ratio}}`, `{{index .spec.list true}}`, `{{index .spec.nothing 1}}`, `{{index "abc" 'a'}}`, `{{index . "kind"}}`,
	`{{slice .kind 1}}`, `{{slice .kind 1 3}}`, `{{slice .kind 3 1}}`, `{{slice .kind 1 2 3}}`, `{{slice .spec.list 1 2}}`, `{{slice .spec.list 1 2 3}}`, `{{slice .spec.list 9}}`, `{{slice 3}}`, `{{slice .absent}}`, `{{slice .kind}}`, `{{slice .spec.list 1 3 2}}`,
	`{{eq .kind "Deployment"}}`, `{{eq .spec.replicas 5}}`, `{{eq .spec.replicas 5.0}}`, `{{eq .spec.ratio 0.5}}`, `{{eq .absent "a"}}`, `{{eq .absent nil}}`, `{{eq .spec.nothing .absent}}`, `{{eq .kind}}`, `{{eq}}`,
	`{{eq .kind 1 2}}`, `{{eq .kind "a" "Deployment"}}`, `{{eq .spec.list .spec.list}}`, `{{eq .metadata .spec.list}}`, `{{eq .metadata nil}}`, `{{eq 1 nil 1}}`, `{{eq true .spec.paused}}`, `{{eq 1i 1i}}`, `{{eq .metadata "a"}}`, `{{eq (index "a" 0) 97}}`, `{{eq nil nil}}`,
	`{{ne 1 2}}`, `{{ne 1 "a"}}`, `{{ne nil 1}}`, `{{ne 1}}`, `{{lt 1 2}}`, `{{lt "a" "b"}}`, `{{lt 1 1.5}}`, `{{lt nil 1}}`, `{{lt true false}}`, `{{le 2 2}}`, `{{gt .spec.replicas 3}}`, `{{ge 1.5 1.5}}`, `{{lt 1i 2i}}`, `{{lt .metadata .spec}}`, `{{le .spec.list 1}}`,
	`{{print 1 2 "a" "b" nil .absent}}`, `{{print}}`, `{{println .kind}}`, `{{printf "%s-%d-%v" .kind .spec.replicas .absent}}`, `{{printf 1}}`, `{{printf .absent}}`, `{{printf nil}}`, `{{printf}}`, `{{.kind | printf "%q"}}`, `{{printf "%d" .kind}}`,
	`{{html .metadata.labels.tier}}`, `{{html .absent}}`, `{{html nil}}`, `{{js "a'b<c>"}}`, `{{urlquery "a b" 1}}`, `{{html}}`, `{{html 1 2}}`,
	`{{.kind | len | printf "%03d"}}`, `{{("a" | print) | len}}`, `{{print (index .spec.list 2)}}`, `{{call .kind}}`, `{{call}}`, `{{nosuch}}`, `{{.kind | nosuch}}`, `{{`, `{{if}}`, `{{end}}`, `{{break}}`, `{{len | len}}`, `{{print len}}`,
	`{{ .metadata.labels | index "a" }}`, `{{(index .spec.containers 0).name}}`, `{{(index .spec.containers 9).name}}`, `{{(index .metadata.labels "x").y}}`, `{{with index .spec.list 2}}a{{else}}b{{end}}`,
	`{{range $i, $e := .spec.list}}{{$e := 1}}{{$e}}{{end}}`, `{{$x := 1}}{{range .spec.list}}{{$y := 2}}{{end}}{{$x}}`, `{{range .spec.ratio}}a{{end}}`, `{{$x:=$x}}`, `{{range -3}}a{{else}}b{{end}}`, `{{range index "a" 0}}.{{end}}`,
}

func FuzzTemplate(f *testing.F) {
	for _, text := range templates {
		for _, document := range documents {
			f.Add(text, document)
		}
	}
	// It is as deep on any document, and text/template goes a hundred thousand calls deep.
	f.Add(`{{define "a"}}{{template "a" .}}{{end}}{{template "a" .}}`, documents[0])
	f.Fuzz(func(t *testing.T, text, document string) {
		var value any
		if json.Unmarshal([]byte(document), &value) != nil || strings.Contains(text, "base64decode") || strings.Contains(text, "exists") {
			t.Skip("no JSON, or kubectl's own functions")
		}
		if strings.Contains(text, "range") && large.MatchString(text+document) {
			t.Skip("it may count for hours")
		}
		want, wantErr := judge(text, value)
		got, err := ours(text, value)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s of %s: %v, not %v", text, document, err, wantErr)
		}
		if err == nil && got != want {
			t.Fatalf("%s of %s: %q, not %q", text, document, got, want)
		}
	})
}

// large matches numbers of more than three digits, however they are written.
var large = regexp.MustCompile(`[0-9]{4}|[0-9][eExXpP_]|'`)

func judge(text string, value any) (string, error) {
	parsed, err := template.New("output").Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, value)
	return out.String(), err
}

func ours(text string, value any) (string, error) {
	parsed, err := Parse("output", text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, value, nil)
	return out.String(), err
}

// What kubectl adds to the functions of Go.
func TestOwnFunctions(t *testing.T) {
	data := map[string]any{"data": map[string]any{"password": "c2VjcmV0"}, "list": []any{"a"}}
	for text, want := range map[string]string{
		`{{.data.password | base64decode}}`:  "secret",
		`{{exists . "data" "password"}}`:     "true",
		`{{exists . "list" 0}}`:              "true",
		`{{exists . "list" 1}}`:              "false",
		`{{exists . "list" "a"}}`:            "false",
		`{{exists . "data" "password" "x"}}`: "false",
	} {
		if got, err := ours(text, data); err != nil || got != want {
			t.Errorf("%s: %q, %v; not %q", text, got, err, want)
		}
	}
	for _, text := range []string{`{{base64decode "%"}}`, `{{base64decode 1}}`, `{{base64decode .absent}}`} {
		if got, err := ours(text, data); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// An error says where in the template it is.
func TestErrorTellsPlace(t *testing.T) {
	_, err := ours("a\n{{range .list}}{{.name}}{{end}}", map[string]any{"list": []any{"text"}})
	if err == nil || !strings.Contains(err.Error(), "output:2:") || !strings.Contains(err.Error(), ".name") {
		t.Error(err)
	}
}

// A template that has no end goes on until it is told that the run is over; one that is
// short is finished all the same.
func TestEndlessEnds(t *testing.T) {
	errOver := errors.New("over")
	over := func() error { return errOver }
	for _, text := range []string{
		`{{range 1000000000000}}{{end}}`,
		`{{range 1000000000000}}{{continue}}{{end}}`,
		`{{range 1000000}}{{range 1000000}}{{break}}{{end}}{{end}}`,
		`{{define "a"}}{{if .}}{{template "a" .}}{{template "a" .}}{{end}}{{end}}{{template "a" 1}}`,
	} {
		parsed, err := Parse("output", text)
		if err != nil {
			t.Fatal(err)
		}
		if err := parsed.Execute(io.Discard, nil, over); !errors.Is(err, errOver) {
			t.Errorf("%s ended with %v", text, err)
		}
	}
	parsed, err := Parse("output", `{{range 3}}x{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, nil, over); err != nil || out.String() != "xxx" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
