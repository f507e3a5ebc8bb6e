package release

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// The parts of SPDX 2.3 that describe the contents of an archive.
type (
	document struct {
		Version       string         `json:"spdxVersion"`
		ID            string         `json:"SPDXID"`
		DataLicense   string         `json:"dataLicense"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      creation       `json:"creationInfo"`
		Packages      []component    `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	component struct {
		ID               string      `json:"SPDXID"`
		Name             string      `json:"name"`
		Version          string      `json:"versionInfo"`
		File             string      `json:"packageFileName,omitempty"`
		Download         string      `json:"downloadLocation"`
		FilesAnalyzed    bool        `json:"filesAnalyzed"`
		Checksums        []sum       `json:"checksums,omitempty"`
		LicenseConcluded string      `json:"licenseConcluded"`
		LicenseDeclared  string      `json:"licenseDeclared"`
		Copyright        string      `json:"copyrightText"`
		Purpose          string      `json:"primaryPackagePurpose,omitempty"`
		References       []reference `json:"externalRefs,omitempty"`
	}
	sum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const (
	noAssertion = "NOASSERTION"
	documentID  = "SPDXRef-DOCUMENT"
	mainID      = "SPDXRef-Package-main"
)

// Published is a published file that contains a program.
type Published struct {
	File, SHA256, Version string
	// At is the commit's time: the current time would differ between builds.
	At time.Time
}

// SBOM returns the SPDX document, in JSON, of a file that contains the program.
func (s *Software) SBOM(p Published) ([]byte, error) {
	doc := document{
		Version: "SPDX-2.3", ID: documentID, DataLicense: "CC0-1.0", Name: p.File,
		Namespace: download(p.Version, p.File) + "/" + p.SHA256,
		Creation: creation{
			Created:  p.At.UTC().Format(time.RFC3339),
			Creators: []string{"Organization: k8sconnect", "Tool: " + program + "-release-" + p.Version},
		},
		Packages: []component{{
			ID: mainID, Name: s.Name, Version: p.Version, File: p.File, Download: download(p.Version, p.File),
			Checksums:        []sum{{"SHA256", p.SHA256}},
			LicenseConcluded: noAssertion, LicenseDeclared: "Apache-2.0", Copyright: noAssertion, Purpose: "APPLICATION",
			References: purl("github.com/k8sconnect/kubectl-k8sconnect", p.Version),
		}},
		Relationships: []relationship{{documentID, "DESCRIBES", mainID}},
	}
	for _, m := range s.Modules {
		id := "SPDXRef-Package-" + regexp.MustCompile(`[^a-zA-Z0-9.-]`).ReplaceAllString(m.Path+"-"+m.Version, "-")
		c := component{
			ID: id, Name: m.Path, Version: m.Version, Download: noAssertion,
			LicenseConcluded: noAssertion, LicenseDeclared: m.License, Copyright: noAssertion, Purpose: "LIBRARY",
			References: purl(m.Path, m.Version),
		}
		doc.Packages = append(doc.Packages, c)
		doc.Relationships = append(doc.Relationships, relationship{mainID, "DEPENDS_ON", id})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

func purl(module, version string) []reference {
	return []reference{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:golang/%s@%s", module, version)}}
}
