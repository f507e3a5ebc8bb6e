package main

import "testing"

// Only modules with reviewed licences are linked: an unknown licence, or one with more conditions,
// stops a release.
func TestLicenseExpression(t *testing.T) {
	const (
		apache = "Apache License\n   Version 2.0, January 2004"
		mit    = "Permission is hereby granted, free of charge, to any person obtaining a copy\n…\nThe above copyright notice and this permission notice shall be included in all\ncopies"
		bsd2   = "Redistributions of source code must retain the above copyright notice,\n * Redistributions in binary form must reproduce the above\n * copyright notice"
		bsd3   = bsd2 + "\nNeither the name … may be used to endorse or promote products derived from\n# this software"
		gpl    = "GNU GENERAL PUBLIC LICENSE Version 3"
	)
	for name, test := range map[string]struct {
		texts []Text
		want  string
	}{
		"Apache":                         {[]Text{{"LICENSE", apache}}, "Apache-2.0"},
		"with a notice":                  {[]Text{{"LICENSE", apache}, {"NOTICE", "This has software of …"}}, "Apache-2.0"},
		"two licences in one file":       {[]Text{{"LICENSE", apache + "\n" + mit}}, "Apache-2.0 AND MIT"},
		"another licence in a subfolder": {[]Text{{"LICENSE", apache}, {"third_party/x/LICENSE", bsd3}}, "Apache-2.0 AND BSD-3-Clause"},
		"BSD with two clauses":           {[]Text{{"LICENSE", bsd2}}, "BSD-2-Clause"},
		"none":                           {nil, ""},
		"only a notice":                  {[]Text{{"NOTICE", "This has software of …"}}, ""},
		"copyleft":                       {[]Text{{"LICENSE", gpl}}, ""},
		"copyleft in a subfolder":        {[]Text{{"LICENSE", mit}, {"x/COPYING", gpl}}, ""},
	} {
		got, err := expression(test.texts)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
