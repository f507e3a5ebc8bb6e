package verb

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// annotator returns a function that formats an error as a GitHub workflow command; nil outside of
// GitHub Actions: https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
// The function returns "" unless the error names a local file. folder is the working directory.
func annotator(getenv func(string) string, folder string) func(level string, at object.Source, message string) string {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	workspace := getenv("GITHUB_WORKSPACE")
	return func(level string, at object.Source, message string) string {
		file := at.File
		if file == "" || file == "-" || strings.Contains(file, "://") {
			return ""
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		// Paths are relative to the root of the repository, but a step may run in a subdirectory.
		if within, err := filepath.Rel(workspace, file); workspace != "" && err == nil && filepath.IsLocal(within) {
			file = within
		}
		place := "file=" + property(filepath.ToSlash(file))
		if at.Line > 0 {
			place += ",line=" + strconv.Itoa(at.Line)
		}
		return "::" + level + " " + place + "::" + data(message)
	}
}

// The functions data and property escape text as GitHub's toolkit does.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// placeOf returns the position of an error in the input; empty for any other error.
func placeOf(err error) object.Source {
	if fault, ok := errors.AsType[*object.FaultError](err); ok {
		return fault.Source
	}
	return object.Source{}
}
