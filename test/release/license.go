package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// recognised are the licences on which a module may be linked, each by sentences that it has and,
// where a longer licence has them too, by one that it lacks. Any other licence is an error: a
// person has to read it first.
//
//nolint:gochecknoglobals // a table
var recognised = []struct {
	id     string
	has    []string
	hasNot string
}{
	{id: "Apache-2.0", has: []string{"apache license version 2.0"}},
	{id: "MIT", has: []string{
		"permission is hereby granted free of charge to any person obtaining a copy",
		"the above copyright notice and this permission notice shall be included in all copies",
	}},
	{id: "BSD-3-Clause", has: []string{
		"redistributions of source code must retain the above copyright notice",
		"redistributions in binary form must reproduce the above copyright notice",
		"may be used to endorse or promote products derived from this software",
	}},
	{id: "BSD-2-Clause", has: []string{
		"redistributions of source code must retain the above copyright notice",
		"redistributions in binary form must reproduce the above copyright notice",
	}, hasNot: "may be used to endorse or promote"},
	{id: "ISC", has: []string{"permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted"}},
}

var notWord = regexp.MustCompile(`[^a-z0-9.]+`)

// expression returns the SPDX expression for a module's licence files, such as "Apache-2.0 AND
// MIT". Notices and patent grants supplement a licence.
func expression(texts []Text) (string, error) {
	var ids []string
	for _, text := range texts {
		found := identify(text.Content)
		name := strings.ToLower(text.File[strings.LastIndex(text.File, "/")+1:])
		adds := strings.HasPrefix(name, "notice") || strings.HasPrefix(name, "patents") || strings.HasPrefix(name, "copyright")
		if len(found) == 0 && !adds {
			return "", fmt.Errorf("%s is not a known licence", text.File)
		}
		if !adds {
			ids = append(ids, found...)
		}
	}
	if len(ids) == 0 {
		return "", errors.New("no licence found")
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

// identify returns the identifiers of all licences in a text, which may be several.
func identify(text string) []string {
	words := notWord.ReplaceAllString(strings.ToLower(text), " ")
	var ids []string
	for _, l := range recognised {
		if l.hasNot != "" && strings.Contains(words, l.hasNot) {
			continue
		}
		if !slices.ContainsFunc(l.has, func(sentence string) bool { return !strings.Contains(words, sentence) }) {
			ids = append(ids, l.id)
		}
	}
	return ids
}
