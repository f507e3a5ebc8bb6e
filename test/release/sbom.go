package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

const noAssertion, documentID, mainID = "NOASSERTION", "SPDXRef-DOCUMENT", "SPDXRef-Package-main"

var notInID = regexp.MustCompile(`[^a-zA-Z0-9.-]`)

// sbom returns the SPDX 2.3 document, in JSON, of a published file that contains the program. Its
// time is the commit's: the current time would differ between builds.
func (s *software) sbom(file, sha256 string, stamp Stamp) ([]byte, error) {
	relationship := func(element, is, related string) map[string]string {
		return map[string]string{"spdxElementId": element, "relationshipType": is, "relatedSpdxElement": related}
	}
	component := func(id, name, version, purpose, license, module string) map[string]any {
		return map[string]any{
			"SPDXID": id, "name": name, "versionInfo": version, "primaryPackagePurpose": purpose,
			"downloadLocation": noAssertion, "filesAnalyzed": false, "copyrightText": noAssertion,
			"licenseConcluded": noAssertion, "licenseDeclared": license,
			"externalRefs": []map[string]string{{
				"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": fmt.Sprintf("pkg:golang/%s@%s", module, version),
			}},
		}
	}
	main := component(mainID, s.name, stamp.Version, "APPLICATION", "Apache-2.0", "github.com/k8sconnect/kubectl-k8sconnect")
	main["packageFileName"], main["downloadLocation"] = file, download(stamp.Version, file)
	main["checksums"] = []map[string]string{{"algorithm": "SHA256", "checksumValue": sha256}}
	packages, relationships := []map[string]any{main}, []map[string]string{relationship(documentID, "DESCRIBES", mainID)}
	for _, m := range s.modules {
		id := "SPDXRef-Package-" + notInID.ReplaceAllString(m.path+"-"+m.version, "-")
		packages = append(packages, component(id, m.path, m.version, "LIBRARY", m.license, m.path))
		relationships = append(relationships, relationship(mainID, "DEPENDS_ON", id))
	}
	text, err := json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "SPDXID": documentID, "dataLicense": "CC0-1.0", "name": file,
		"documentNamespace": download(stamp.Version, file) + "/" + sha256,
		"creationInfo": map[string]any{
			"created":  stamp.At.UTC().Format(time.RFC3339),
			"creators": []string{"Organization: k8sconnect", "Tool: " + program + "-release-" + stamp.Version},
		},
		"packages": packages, "relationships": relationships,
	}, "", "  ")
	return append(text, '\n'), err
}
