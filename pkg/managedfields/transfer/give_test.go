package transfer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// entries parses lines "manager operation version[/subresource] {fields}", one for each entry.
func entries(t *testing.T, lines ...string) []managedfields.Entry {
	t.Helper()
	text := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  managedFields:\n"
	for _, l := range lines {
		part := strings.SplitN(l, " ", 4)
		version, subresource, _ := strings.Cut(part[2], ":")
		text += "  - {manager: " + part[0] + ", operation: " + part[1] + ", apiVersion: " + version
		if subresource != "" {
			text += ", subresource: " + subresource
		}
		text += ", fieldsType: FieldsV1, fieldsV1: " + part[3] + "}\n"
	}
	out, err := managedfields.Entries(fieldstest.Read(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func message(all []managedfields.Entry) []string {
	var out []string
	for _, e := range all {
		line := e.Manager + " " + e.Operation + " " + e.APIVersion
		if e.Subresource != "" {
			line += ":" + e.Subresource
		}
		fieldpath.Each(e.Fields, func(p fieldpath.Path) { line += " " + p.String() })
		out = append(out, line)
	}
	return out
}

func paths(t *testing.T, texts ...string) []fieldpath.Path {
	t.Helper()
	var out []fieldpath.Path
	for _, text := range texts {
		p, err := fieldpath.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestGive(t *testing.T) {
	const (
		helm  = `helm Apply apps/v1 {f:spec: {f:paused: {}}}`
		csa   = `kubectl-client-side-apply Update apps/v1 {f:spec: {f:paused: {}, f:replicas: {}}}`
		scale = `kubectl Update apps/v1:scale {f:spec: {f:replicas: {}}}`
		kcm   = `kube-controller-manager Update apps/v1:status {f:status: {f:replicas: {}}}`
		image = `edit Update apps/v1 {f:spec: {f:template: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:image: {}, f:args: {}}}}}}`
	)
	for name, tc := range map[string]struct {
		entries []string
		wish    transfer.Wish
		paths   []string
		want    []string
		left    []string
	}{
		"into the applier's entry": {
			entries: []string{helm, csa}, wish: transfer.Wish{To: "helm", From: []string{managedfields.ClientSideApply}},
			want: []string{"helm Apply apps/v1 .spec.paused .spec.replicas"},
		},
		"one path, the rest stays": {
			entries: []string{helm, csa}, wish: transfer.Wish{To: "helm"}, paths: []string{".spec.replicas"},
			want: []string{"helm Apply apps/v1 .spec.paused .spec.replicas", "kubectl-client-side-apply Update apps/v1 .spec.paused"},
		},
		"shared": {
			entries: []string{helm, csa}, wish: transfer.Wish{To: "helm", Mode: transfer.Share}, paths: []string{".spec.replicas"},
			want: []string{"helm Apply apps/v1 .spec.paused .spec.replicas", "kubectl-client-side-apply Update apps/v1 .spec.paused .spec.replicas"},
		},
		"released": {
			entries: []string{helm, csa}, wish: transfer.Wish{Mode: transfer.Release}, paths: []string{".spec.replicas"},
			want: []string{"helm Apply apps/v1 .spec.paused", "kubectl-client-side-apply Update apps/v1 .spec.paused"},
		},
		"from a subresource (edge case 6)": {
			entries: []string{helm, scale}, wish: transfer.Wish{To: "helm"}, paths: []string{".spec.replicas"},
			want: []string{"helm Apply apps/v1 .spec.paused .spec.replicas"},
		},
		"to a subresource (edge case 6)": {
			entries: []string{`helm Apply apps/v1 {f:spec: {f:replicas: {}}}`, `hpa Update apps/v1:scale {f:x: {}}`},
			wish:    transfer.Wish{To: "hpa"}, paths: []string{".spec.replicas"},
			want: []string{"hpa Update apps/v1:scale .x .spec.replicas"},
		},
		"to a controller that only writes the status": {
			entries: []string{`helm Apply apps/v1 {f:spec: {f:replicas: {}}}`, kcm}, wish: transfer.Wish{To: "kube-controller-manager"}, paths: []string{".spec.replicas"},
			want: []string{"kube-controller-manager Update apps/v1:status .status.replicas", "kube-controller-manager Update apps/v1 .spec.replicas"},
		},
		"from Update to Apply of one manager (edge case 6)": {
			entries: []string{helm, `helm Update apps/v1 {f:spec: {f:replicas: {}}}`}, wish: transfer.Wish{To: "helm", From: []string{"helm"}},
			want: []string{"helm Apply apps/v1 .spec.paused .spec.replicas"},
		},
		"to a new manager that applies": {
			entries: []string{csa}, wish: transfer.Wish{To: "flux", As: managedfields.Apply}, paths: []string{".spec.replicas"},
			want: []string{"kubectl-client-side-apply Update apps/v1 .spec.paused", "flux Apply apps/v1 .spec.replicas"},
		},
		"an item's field, with the item and its key (edge case 83)": {
			entries: []string{image}, wish: transfer.Wish{To: "flux", As: managedfields.Apply}, paths: []string{`.spec.template.containers[name="app"].image`},
			want: []string{
				`edit Update apps/v1 .spec.template.containers[name="app"] .spec.template.containers[name="app"].args .spec.template.containers[name="app"].name`,
				`flux Apply apps/v1 .spec.template.containers[name="app"] .spec.template.containers[name="app"].image .spec.template.containers[name="app"].name`,
			},
		},
		"at another version, an applier cannot take it (edge case 7)": {
			entries: []string{helm, `old Update apps/v1beta1 {f:spec: {f:replicas: {}}}`}, wish: transfer.Wish{To: "helm"}, paths: []string{".spec.replicas"},
			want: []string{"helm Apply apps/v1 .spec.paused", "old Update apps/v1beta1 .spec.replicas"},
			left: []string{".spec.replicas other version"},
		},
		"at another version, an updater gets its own entry (edge case 7)": {
			entries: []string{`hpa Update apps/v1 {f:spec: {f:paused: {}}}`, `old Update apps/v1beta1 {f:spec: {f:replicas: {}}}`}, wish: transfer.Wish{To: "hpa"}, paths: []string{".spec.replicas"},
			want: []string{"hpa Update apps/v1 .spec.paused", "hpa Update apps/v1beta1 .spec.replicas"},
		},
		"fields outside the receiver's manifest stay": {
			entries: []string{helm, csa},
			wish:    transfer.Wish{To: "helm", From: []string{managedfields.ClientSideApply}, Declared: map[string]any{"spec": map[string]any{"paused": true}}},
			want:    []string{"helm Apply apps/v1 .spec.paused", "kubectl-client-side-apply Update apps/v1 .spec.replicas"},
			left:    []string{".spec.replicas unstated"},
		},
		"the receiver already owns it": {
			entries: []string{helm}, wish: transfer.Wish{To: "helm"}, paths: []string{".spec.paused"},
			want: []string{"helm Apply apps/v1 .spec.paused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.wish.Paths = paths(t, tc.paths...)
			had := entries(t, tc.entries...)
			out, err := transfer.Give(had, tc.wish)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, message(out.Entries)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var left []string
			for _, l := range out.Left {
				left = append(left, l.Path.String()+" "+string(l.Why))
			}
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(message(entries(t, tc.entries...)), message(had)); diff != "" {
				t.Errorf("Give changed its input:\n%s", diff)
			}
		})
	}
}

// Releasing a field without an owner succeeds, so that a job can be repeated. Releasing fails for a
// part of a value that another manager owns as a whole, and for another manager's field.
func TestRepeatedReleaseSucceeds(t *testing.T) {
	had := entries(t, `helm Apply v1 {f:data: {f:a: {}, f:m: {}}}`, `edit Update v1 {f:data: {f:b: {}}}`)
	wish := transfer.Wish{Mode: transfer.Release, From: []string{"edit"}, Paths: paths(t, ".data.b")}
	once, err := transfer.Give(had, wish)
	if err != nil || len(once.Given) != 1 {
		t.Fatalf("%+v, %v", once.Given, err)
	}
	twice, err := transfer.Give(once.Entries, wish)
	if err != nil || len(twice.Given) != 0 || len(twice.Left) != 0 {
		t.Errorf("second release: got %+v, %v, want no changes and no error", twice, err)
	}
	if diff := cmp.Diff(message(once.Entries), message(twice.Entries)); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{".data.a", ".data.m.b"} {
		wish.Paths = paths(t, path)
		if _, err := transfer.Give(once.Entries, wish); err == nil {
			t.Errorf("%s is released by a manager that does not own it", path)
		}
	}
}

func TestRefused(t *testing.T) {
	const helm, flux = `helm Apply v1 {f:data: {f:a: {}, f:m: {}}}`, `flux Apply v1 {f:data: {f:a: {}}}`
	const kcm = `kube-controller-manager Update v1:status {f:status: {f:replicas: {}}}`
	for name, tc := range map[string]struct {
		entries []string
		wish    transfer.Wish
		path    string
		want    string
		hint    string
	}{
		"several owners":                 {[]string{helm, flux}, transfer.Wish{To: "x", As: "Update"}, ".data.a", ".data.a has several owners: flux (Apply), helm (Apply)", "or add an owner with --share"},
		"several owners, no receiver":    {[]string{helm, flux}, transfer.Wish{Mode: transfer.Release}, ".data.a", ".data.a has several owners: flux (Apply), helm (Apply)", "--from"},
		"path without an owner":          {[]string{helm}, transfer.Wish{To: "helm"}, ".data.z", ".data.z has no owner", "next"},
		"another manager's field":        {[]string{helm}, transfer.Wish{To: "x", As: "Update", From: []string{"edit"}}, ".data.a", "edit does not own .data.a: helm (Apply) does", ""},
		"a part of an atomic value":      {[]string{helm}, transfer.Wish{To: "x", As: "Update"}, ".data.m.b", ".data.m is owned as one value by helm (Apply), and .data.m.b is only a part of it", "give .data.m"},
		"an unknown receiver":            {[]string{helm}, transfer.Wish{To: "x"}, ".data.a", `"x" owns none of its fields yet`, "--as-operation=apply"},
		"the server's own bookkeeping":   {[]string{helm}, transfer.Wish{To: "before-first-apply"}, ".data.a", "bookkeeping", ""},
		"the give command's own manager": {[]string{helm}, transfer.Wish{To: "k8sconnect-give"}, ".data.a", "must own nothing", ""},
		"the status":                     {[]string{helm}, transfer.Wish{To: "helm"}, ".status.x", "belongs to the status", ""},
		"the identity":                   {[]string{helm}, transfer.Wish{To: "helm"}, ".metadata.name", "identity", ""},
		"no managed fields":              {nil, transfer.Wish{To: "helm"}, ".data.a", "no managed fields", "cleared"},
		"nothing owned":                  {[]string{helm}, transfer.Wish{To: "helm", From: []string{"edit"}}, "", "edit owns none of its fields", "helm"},
		"a typo":                         {[]string{helm, flux}, transfer.Wish{To: "helm", From: []string{"flx"}}, "", "flx (did you mean flux?) owns none of its fields", "its owners: flux, helm"},
		"nothing owned but the status":   {[]string{helm, kcm}, transfer.Wish{To: "helm", From: []string{"kube-controller-manager"}}, "", "kube-controller-manager owns none of its fields", "its owners: helm"},
		"the last owner":                 {[]string{helm}, transfer.Wish{Mode: transfer.Release, From: []string{"helm"}}, "", "none of its fields would have an owner", "before-first-apply"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.path != "" {
				tc.wish.Paths = paths(t, tc.path)
			}
			var had []managedfields.Entry
			if tc.entries != nil {
				had = entries(t, tc.entries...)
			}
			_, err := transfer.Give(had, tc.wish)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			var hinted interface{ Hint() string }
			if errors.As(err, &hinted) != (tc.hint != "") && tc.hint != "" {
				t.Fatalf("no hint: %v", err)
			}
			if tc.hint != "" && !strings.Contains(hinted.Hint(), tc.hint) {
				t.Errorf("hint %q, want %q", hinted.Hint(), tc.hint)
			}
			if tc.wish.Mode == transfer.Release && strings.Contains(hinted.Hint(), "--share") {
				t.Errorf("the hint for a release suggests --share: %q", hinted.Hint())
			}
		})
	}
}
