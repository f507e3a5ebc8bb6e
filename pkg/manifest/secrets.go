package manifest

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
)

type recorder struct {
	filesys.FileSystem
	aliases yamldoc.Aliases
	mu      sync.Mutex
	files   map[string][]byte
}

// ReadFile rejects a file whose aliases would expand to a huge text, because kustomize would expand
// them.
func (r *recorder) ReadFile(path string) ([]byte, error) {
	text, err := r.FileSystem.ReadFile(path)
	if err == nil && (isManifestName(path) || slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path))) {
		for _, d := range yamldoc.Split(path, text) {
			if err := r.aliases.Admit(d); err != nil {
				return nil, err
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = text
	return text, err
}

func (r *recorder) has(field string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, text := range r.files {
		var fields map[string]any
		if slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path)) &&
			yaml.Unmarshal(text, &fields) == nil && fields[field] != nil {
			return true
		}
	}
	return false
}

// It is better to mask too much of an error than too little. If a file cannot be parsed and
// mentions Secrets, everything but its keys counts as secret.
func (r *recorder) learn(secrets Secrets) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &learner{secrets: secrets, sources: map[string]bool{}}
	for path, text := range r.files {
		l.file(path, text)
	}
	for path, text := range r.files {
		if l.sources[filepath.Base(path)] {
			l.source(string(text))
		}
	}
}

type learner struct {
	secrets Secrets
	sources map[string]bool
}

func (l *learner) file(path string, text []byte) {
	for _, d := range yamldoc.Split(path, text) {
		value, faults := d.Decode()
		if len(faults) > 0 {
			l.words(string(text))
			return
		}
		l.value(value)
	}
}

func (l *learner) value(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			l.value(item)
		}
	case map[string]any:
		l.secrets.Learn(v)
		generators, _ := v["secretGenerator"].([]any)
		for _, g := range generators {
			generator, _ := g.(map[string]any)
			l.generator(generator)
		}
		for key, below := range v {
			_, hasKind := v["kind"]
			switch key {
			case "stringData", "value":
				l.learnAll(below)
			case "data":
				if !hasKind { // The map may be part of a Secret.
					l.learnAll(below)
				}
			default:
				l.value(below)
			}
		}
	case string: // an inline patch
		if !strings.ContainsAny(v, "\n{[") {
			return
		}
		l.file("", []byte(v))
	}
}

func (l *learner) generator(g map[string]any) {
	for _, key := range []string{"literals", "envs", "env", "files"} {
		entries, isList := g[key].([]any)
		if !isList {
			entries = []any{g[key]}
		}
		for _, e := range entries {
			entry, _ := e.(string)
			_, after, _ := strings.Cut(entry, "=")
			if key == "literals" {
				l.secrets.Add(entry)
				l.secrets.Add(strings.Trim(after, `'"`))
				continue
			}
			l.sources[filepath.Base(entry)] = true
			l.sources[filepath.Base(after)] = true
		}
	}
}

// In some generators, each line becomes a separate value.
func (l *learner) source(text string) {
	l.secrets.Add(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		_, after, _ := strings.Cut(line, "=")
		l.secrets.Add(line)
		l.secrets.Add(after)
	}
}

func (l *learner) learnAll(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			l.learnAll(below)
		}
	case []any:
		for _, below := range v {
			l.learnAll(below)
		}
	case string:
		l.secrets.Add(v)
	}
}

// In a line of unknown format, the value may follow the key, and any word may be a value.
func (l *learner) words(text string) {
	if !strings.Contains(strings.ToLower(text), "secret") && !strings.Contains(text, "stringData") {
		return
	}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "- ")
		if key, after, found := strings.Cut(line, ":"); found && !strings.ContainsAny(key, ` "'=`) {
			line = after
		}
		line = strings.TrimSpace(line)
		l.secrets.Add(line)
		_, after, _ := strings.Cut(line, "=")
		l.secrets.Add(after)
		for word := range strings.FieldsSeq(line) {
			l.secrets.Add(strings.Trim(word, `'"*&!|>{}[],:`))
		}
	}
}
