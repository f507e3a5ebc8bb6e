package managedfields

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// maxScanDepth is how deep field sets may be nested, as for the readers of JSON.
const maxScanDepth = 10000

var (
	errScan  = errors.New("not a field set in JSON")
	errDepth = errors.New("nested too deeply")
)

// scanFields reads the text of a fieldsV1. The webhook does it for each write that
// changes owners, with sets of thousands of paths: there is no tree in between, as
// [decodeFields] has it, and what the API server writes, maps in maps, is read
// right here. JSON's finer points are left to encoding/json.
func scanFields(text string) (*Set, error) {
	s := scanner{text: text}
	set := fieldpath.NewSet()
	s.space()
	if !s.take("null") {
		if _, _, err := s.fields(set, 0); err != nil {
			return nil, fmt.Errorf("fieldsV1: %w", err)
		}
	}
	if s.space(); s.pos < len(s.text) {
		return nil, fmt.Errorf("fieldsV1: %w", errScan)
	}
	return set, nil
}

// scanner is at a position of a text in JSON.
type scanner struct {
	text string
	pos  int
}

// fields reads a map into a set. It tells whether the map has the key ".", and
// whether it has others.
func (s *scanner) fields(set *Set, depth int) (self, others bool, err error) {
	if depth > maxScanDepth {
		return false, false, errDepth
	}
	if !s.take("{") {
		return false, false, errScan
	}
	if s.space(); s.take("}") {
		return false, false, nil
	}
	for {
		key, err := s.key()
		if err != nil {
			return false, false, err
		}
		if key == "." {
			self = true
			err = s.skip()
		} else {
			others = true
			err = s.field(set, key, depth)
		}
		if err != nil {
			return false, false, err
		}
		s.space()
		switch {
		case s.take("}"):
			return self, others, nil
		case !s.take(","):
			return false, false, errScan
		}
	}
}

// field reads what a key stands for into a set. A key of a sort that is not known
// is passed over, as the API server does.
func (s *scanner) field(set *Set, key string, depth int) error {
	pe, err := decodeElement(key)
	switch {
	case errors.Is(err, fieldpath.ErrUnknownPathElementType):
		return s.skip()
	case err != nil:
		return fmt.Errorf("key %q: %w", key, err)
	case s.take("{}"):
		set.Members.Insert(pe)
		return nil
	}
	var below Set
	self, others, err := s.fields(&below, depth+1)
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	if self || !others {
		set.Members.Insert(pe)
	}
	if others {
		*set.Children.Descend(pe) = below
	}
	return nil
}

// key reads a key and the colon behind it.
func (s *scanner) key() (string, error) {
	s.space()
	if !s.take(`"`) {
		return "", errScan
	}
	start, quotes, finer := s.pos, false, false
	for ; s.pos < len(s.text) && s.text[s.pos] != '"'; s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\':
			s.pos++
			quotes, finer = true, finer || s.pos >= len(s.text) || s.text[s.pos] != '"'
		case c < ' ' || c > '~':
			finer = true
		}
	}
	if s.pos >= len(s.text) {
		return "", errScan
	}
	key := s.text[start:s.pos]
	s.pos++
	switch {
	case finer:
		if err := json.Unmarshal([]byte(s.text[start-1:s.pos]), &key); err != nil {
			return "", err
		}
	case quotes:
		key = strings.ReplaceAll(key, `\"`, `"`)
	}
	if s.space(); !s.take(":") {
		return "", errScan
	}
	s.space()
	return key, nil
}

// skip passes over a value, whatever it is.
func (s *scanner) skip() error {
	if s.take("{}") {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(s.text[s.pos:]))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	s.pos += int(decoder.InputOffset())
	return nil
}

// take takes a text, if it comes next.
func (s *scanner) take(text string) bool {
	if strings.HasPrefix(s.text[s.pos:], text) {
		s.pos += len(text)
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}
