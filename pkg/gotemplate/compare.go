package gotemplate

import (
	"errors"
	"fmt"
)

var (
	errNoComparison = errors.New("nothing to compare with")
	errDiffer       = errors.New("values of different types cannot be compared")
	errNoOrder      = errors.New("values of this type have no order")
)

// kind groups values that can be compared with each other.
type kind int

const (
	other kind = iota
	boolean
	whole
	real
	imaginary
	words
)

func kindOf(value any) kind {
	switch value.(type) {
	case bool:
		return boolean
	case int, int64, uint8:
		return whole
	case float64:
		return real
	case complex128:
		return imaginary
	case string:
		return words
	default:
		return other
	}
}

func integer(value any) int64 {
	switch v := value.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case uint8:
		return int64(v)
	default:
		return 0
	}
}

// equalAny reports whether a value is equal to any of the others.
func equalAny(value any, others []any) (bool, error) {
	if len(others) == 0 {
		return false, errNoComparison
	}
	for _, other := range others {
		same, err := equal(value, other)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func equal(a, b any) (bool, error) {
	switch {
	case a == nil || b == nil:
		return a == nil && b == nil, nil
	case kindOf(a) != kindOf(b):
		return false, errDiffer
	case kindOf(a) == other:
		return false, fmt.Errorf("%v and %v cannot be compared", a, b)
	case kindOf(a) == whole:
		return integer(a) == integer(b), nil
	default:
		return a == b, nil
	}
}

func less(a, b any) (bool, error) {
	if kindOf(a) != kindOf(b) {
		return false, errDiffer
	}
	switch a := a.(type) {
	case string:
		other, _ := b.(string)
		return a < other, nil
	case float64:
		other, _ := b.(float64)
		return a < other, nil
	case int, int64, uint8:
		return integer(a) < integer(b), nil
	default:
		return false, errNoOrder
	}
}

func atMost(a, b any) (bool, error) {
	isLess, err := less(a, b)
	if isLess || err != nil {
		return isLess, err
	}
	return equal(a, b)
}
