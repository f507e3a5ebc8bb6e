package reportjudge

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Folder is the environment variable with the folder for records. Without it, nothing is recorded.
const Folder = "REPORT_RECORDS"

// runVariable sets the ID of a run, with which its Audit-IDs begin.
const runVariable = "KUBECTL_K8SCONNECT_RUN_ID"

// Record is one run of the plugin.
type Record struct {
	Run            string
	Dir            string // the working directory
	Args           []string
	Stdout, Stderr string
	Status         int
	Began, Ended   time.Time
}

// Recorder records the run of the process.
type Recorder struct {
	folder         string
	record         Record
	stdout, stderr bytes.Buffer
}

// Begin starts to record, and gives the run an ID if it has none. It returns nil if the environment
// names no folder.
func Begin() *Recorder {
	folder := os.Getenv(Folder)
	if folder == "" {
		return nil
	}
	r := &Recorder{folder: folder, record: Record{Run: givenRun(os.Args), Args: slices.Clone(os.Args), Began: time.Now()}}
	r.record.Dir, _ = os.Getwd()
	if r.record.Run == "" {
		r.record.Run = ulid.Make().String()
		_ = os.Setenv(runVariable, r.record.Run)
	}
	return r
}

func givenRun(args []string) string {
	for i, arg := range args {
		if id, ok := strings.CutPrefix(arg, "--run-id="); ok {
			return id
		}
		if arg == "--run-id" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return os.Getenv(runVariable)
}

// Writers return writers that also record.
func (r *Recorder) Writers(stdout, stderr io.Writer) (out, errOut io.Writer) {
	if r == nil {
		return stdout, stderr
	}
	return &tee{stdout, &r.stdout}, &tee{stderr, &r.stderr}
}

// tee is an io.Writer that keeps the file below it reachable, so that the plugin still recognizes a
// terminal.
type tee struct {
	io.Writer
	kept *bytes.Buffer
}

func (t *tee) Write(p []byte) (int, error) {
	t.kept.Write(p)
	return t.Writer.Write(p)
}

// Unwrap returns the underlying writer.
func (t *tee) Unwrap() io.Writer { return t.Writer }

// End stores the record, and returns the status. A run that is killed leaves no record.
func (r *Recorder) End(status int) int {
	if r == nil {
		return status
	}
	r.record.Stdout, r.record.Stderr = r.stdout.String(), r.stderr.String()
	r.record.Status, r.record.Ended = status, time.Now()
	text, err := json.Marshal(r.record)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.folder, ulid.Make().String()+".json"), text, 0o600)
	}
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
		return max(status, 1)
	}
	return status
}

// records reads the records in a folder, in the order of their ends.
func records(folder string) ([]Record, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	out := make([]Record, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
