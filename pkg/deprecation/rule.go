package deprecation

// rule is a deprecated field, and how to recognize it.
type rule struct {
	// path leads to it from the root of its rules; [] stands for each item of a list.
	path string
	// key is a key of the map at path; a trailing * stands for any rest.
	key string
	// value is the deprecated one; any, if empty.
	value string
	// labels: look for the deprecated labels of nodes, with their own releases and
	// replacements.
	labels bool
	// unless are paths to its replacement: if one is set, the field is not reported,
	// since the API server may have filled it in.
	unless      []string
	since, gone Release
	use         string
	// source names where it was deprecated: a field of k8s.io/api, or another source.
	source string
}

// ruleSet is the rules for what lies below a path.
type ruleSet struct {
	base  string
	rules []rule
}
