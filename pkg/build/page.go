package build

import "regexp"

// Pages is where the pages of this project are, for every version.
const Pages = "https://github.com/k8sconnect/kubectl-k8sconnect/blob/"

// Page returns the address of a page in docs, such as "webhook.md#install", at the
// version of the running program: users of a released binary have no clone.
func Page(name string) string { return This().Page(name) }

// Page returns the address of a page in docs at a version: at the tag of a release, at
// the commit if there is no tag, or else the current one.
func (i Info) Page(name string) string {
	at := "main"
	switch {
	case regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.?\d+)?$`).MatchString(i.Version):
		at = i.Version
	case regexp.MustCompile(`^[0-9a-f]{12,40}$`).MatchString(i.Commit):
		at = i.Commit
	}
	return Pages + at + "/docs/" + name
}
