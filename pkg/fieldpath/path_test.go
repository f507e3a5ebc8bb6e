package fieldpath_test

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// The test covers keys with dots (edge case 1), set items (edge case 2), and list items by key
// (edge case 4).
func TestParsePath(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain":                          {`.spec.replicas`, `.spec.replicas`},
		"missing dot":                    {`spec.replicas`, `.spec.replicas`},
		"spaces around":                  {"  .spec.replicas \n", `.spec.replicas`},
		"list item":                      {`.spec.containers[name="app"].image`, `.spec.containers[name="app"].image`},
		"quotes eaten by a shell":        {`.spec.containers[name=app].image`, `.spec.containers[name="app"].image`},
		"single quotes":                  {`.spec.containers[name='app']`, `.spec.containers[name="app"]`},
		"escape in single quotes":        {`.data['it\'s']`, `.data["it's"]`},
		"dotted key":                     {`.metadata.labels["app.kubernetes.io/name"]`, `.metadata.labels["app.kubernetes.io/name"]`},
		"dotted key, single quotes":      {`.metadata.labels['app.kubernetes.io/name']`, `.metadata.labels["app.kubernetes.io/name"]`},
		"dotted key, no quotes":          {`.metadata.labels[app.kubernetes.io/name]`, `.metadata.labels["app.kubernetes.io/name"]`},
		"dot before a bracket":           {`.data.["app.conf"]`, `.data["app.conf"]`},
		"quotes after a dot":             {`.data."app.conf".x`, `.data["app.conf"].x`},
		"needless quotes":                {`["spec"]["replicas"]`, `.spec.replicas`},
		"slash without quotes":           {`.metadata.annotations.team/owner`, `.metadata.annotations["team/owner"]`},
		"set item":                       {`.metadata.finalizers[="example.com/x"]`, `.metadata.finalizers[="example.com/x"]`},
		"set item, no quotes":            {`.metadata.finalizers[=example.com/x]`, `.metadata.finalizers[="example.com/x"]`},
		"set of numbers":                 {`.ports[=53]`, `.ports[=53]`},
		"several keys":                   {`.ports[port=53,protocol="TCP"]`, `.ports[port=53,protocol="TCP"]`},
		"keys in another order":          {`.ports[ protocol = "TCP" , port = 53 ]`, `.ports[port=53,protocol="TCP"]`},
		"number in quotes":               {`.x[name="53"]`, `.x[name="53"]`},
		"a leading zero is not a number": {`.x[name=053]`, `.x[name="053"]`},
		"booleans and null":              {`.x[a=true,b=false,c=null]`, `.x[a=true,b=false,c=null]`},
		"fraction":                       {`.x[a=1.5]`, `.x[a=1.5]`},
		"large number":                   {`.x[a=1e6]`, `.x[a=1000000]`},
		"odd name of a key":              {`.x["a b"=1]`, `.x["a b"=1]`},
		"bracket in a value":             {`.x[a="]["].y`, `.x[a="]["].y`},
		"empty name":                     {`[""]`, `[""]`},
		"position":                       {`.args[0]`, `.args[0]`},
		"not Latin":                      {`.data["ключ"]`, `.data["ключ"]`},
		"control characters":             {`.data["a\nb"]`, `.data["a\nb"]`},
		"key without fields":             {`.x[{}]`, `.x[{}]`},
		"key with a structure":           {`.x[a={"b":[1]}]`, `.x[a={"b":[1]}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := fieldpath.ParsePath(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			again, err := fieldpath.ParsePath(p.String())
			if err != nil {
				t.Fatal(err)
			}
			if !again.Equal(p) {
				t.Errorf("%s reads as another path", p)
			}
		})
	}
}

func TestParsePathErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":                               {``, `path "", column 1: the path is empty`},
		"dot":                                 {`.`, `path ".", column 1: the path is empty`},
		"two dots":                            {`.spec..x`, `path ".spec..x", column 7: expected a field name`},
		"trailing dot":                        {`.spec.`, `path ".spec.", column 7: expected a field name`},
		"no closing bracket":                  {`.a[name="x"`, `path ".a[name=\"x\"", column 12: expected "]"`},
		"no end quote":                        {`.a["x`, `path ".a[\"x", column 4: the quoted text has no closing quote`},
		"no value":                            {`.a[name=]`, `path ".a[name=]", column 9: expected a value`},
		"no name":                             {`.a[]`, `path ".a[]", column 4: expected a field name`},
		"second key without a name":           {`.a[b=1,]`, `path ".a[b=1,]", column 8: expected a field name`},
		"second key without a value":          {`.a[b=1,c]`, `path ".a[b=1,c]", column 9: expected "="`},
		"twice":                               {`.a[b=1,b=2]`, `path ".a[b=1,b=2]", column 10: duplicate key`},
		"name after a bracket":                {`.a[0]b`, `path ".a[0]b", column 6: expected "." or "["`},
		"space inside":                        {`.a b`, `path ".a b", column 3: expected "." or "["`},
		"stray bracket":                       {`.a]`, `path ".a]", column 3: expected "." or "["`},
		"wildcard":                            {`.a[*].b`, `path ".a[*].b", column 4: wildcards are not supported: name one item by its key`},
		"dot wildcard":                        {`.a.*`, `path ".a.*", column 4: wildcards are not supported: name one item by its key`},
		"columns count characters, not bytes": {`.ключ[`, `path ".ключ[", column 7: expected a field name`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := fieldpath.ParsePath(tt.text)
			if err == nil {
				t.Fatalf("got %s, want an error", p)
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestPathRelations(t *testing.T) {
	image := fieldstest.Path(t, `.spec.containers[name="app"].image`)
	if !image.HasPrefix(fieldstest.Path(t, `.spec.containers[name="app"]`)) || !image.HasPrefix(image) || !image.HasPrefix(nil) {
		t.Error("HasPrefix() = false for a prefix of the path")
	}
	if image.HasPrefix(fieldstest.Path(t, `.spec.containers[name="sidecar"]`)) || fieldstest.Path(t, `.spec`).HasPrefix(image) {
		t.Error("HasPrefix() = true for a path that is no prefix")
	}
	if fieldstest.Path(t, `.spec`).Compare(fieldstest.Path(t, `.spec.a`)) >= 0 || fieldstest.Path(t, `.b`).Compare(fieldstest.Path(t, `.a.c`)) <= 0 {
		t.Error("paths are out of order")
	}
	if !fieldpath.Field("metadata", "labels", "a.b/c").Equal(fieldstest.Path(t, `.metadata.labels["a.b/c"]`)) {
		t.Error("Field and ParsePath return different paths")
	}
}

func TestPathGet(t *testing.T) {
	object := fieldstest.Content(t, `
spec:
  ports: [{port: 53, protocol: TCP, name: a}, {port: 53, name: b}, {port: 80, name: c}]
  args: [v, w]
  none: null
data: {app.conf: text}
`)
	tests := map[string]struct {
		path string
		want any
		has  bool
	}{
		"by key":                   {`.spec.ports[port=80].name`, "c", true},
		"by whole key":             {`.spec.ports[port=53,protocol="TCP"].name`, "a", true},
		"defaulted (edge case 3)":  {`.spec.ports[port=53,protocol="UDP"].name`, "b", true},
		"no such key":              {`.spec.ports[port=81].name`, nil, false},
		"set item":                 {`.spec.args[="w"]`, "w", true},
		"position":                 {`.spec.args[0]`, "v", true},
		"position out of range":    {`.spec.args[2]`, nil, false},
		"dotted key (edge case 1)": {`.data["app.conf"]`, "text", true},
		"a null value is found":    {`.spec.none`, nil, true},
		"below null":               {`.spec.none.x`, nil, false},
		"key of a map":             {`.data[name="x"]`, nil, false},
		"name in a list":           {`.spec.args.x`, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, has := fieldstest.Path(t, tt.path).Get(object)
			if got != tt.want || has != tt.has {
				t.Errorf("got %v, %v, want %v, %v", got, has, tt.want, tt.has)
			}
		})
	}
}
