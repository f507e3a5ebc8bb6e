package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// measuredGrowth is a run in which CPU time grows faster than the objects.
func measuredGrowth() *results {
	r := newResults()
	r.Growth = true
	for i, count := range growthCounts() {
		c := cell{sample: lab.Sample{Title: growthTitle(count)}}
		seconds := []float64{0.1, 0.5, 4, 60}[i]
		r.add(c, workCreate, toolPlugin, 0, lab.Measured{Usage: lab.Usage{Seconds: seconds, CPUSeconds: seconds / 2, PeakBytes: int64(50e6 * (i + 1))}})
		r.add(c, workCreate, toolPatch, 32, lab.Measured{Usage: lab.Usage{Seconds: seconds / 2}})
	}
	r.add(cell{sample: lab.Sample{Title: growthTitle(largest)}}, workAgain, toolPlugin, 0, lab.Measured{Usage: lab.Usage{Seconds: 10, PeakBytes: 1100e6}})
	r.add(cell{sample: lab.Sample{Title: growthTitle(largest)}}, workAgain, toolLook, 32, lab.Measured{Usage: lab.Usage{Seconds: 5}})
	return r
}

func TestGrowth(t *testing.T) {
	r := measuredGrowth()
	var out bytes.Buffer
	r.report(&out)
	for _, want := range []string{
		"| 1,000 | create | 0.50 | 2.00× | 0.25 | 0.25 | 1.00× | 100 |\n",
		"| 100,000 | create | 60.0 | 2.00× | 30.0 | 0.30 | 1.20× | 200 |\n",
		"| 100,000 ConfigMaps, create, CPU an object, of that at 1,000 | ≤ 1.3× | 1.20× | reached |\n",
		"| 100,000 ConfigMaps, again, of the paged LIST | ≤ 2.5× | 2.00× | reached |\n",
		"| 100,000 ConfigMaps, again, memory | ≤ 1000 MB | 1100 MB | **missed** |\n",
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("not once: %q in:\n%s", want, out.String())
		}
	}
}

// The picture is well-formed, has a point for each measurement, and all of it is inside.
func TestGrowthPicture(t *testing.T) {
	picture := growthPicture(growthCounts(), measuredGrowth().growth())
	decoder, circles := xml.NewDecoder(strings.NewReader(picture)), 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 2*len(growthCounts()) { // seconds, and memory; again was measured once
		t.Errorf("%d points:\n%s", circles, picture)
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") || strings.Contains(picture, `cy="-`) {
		t.Error(picture)
	}
}

func TestPagesAreRenewedBetweenTheirMarks(t *testing.T) {
	dir := t.TempDir()
	write := func(page, text string) {
		if err := os.WriteFile(filepath.Join(dir, page), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(page string) string {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(pageShort, "# A\n<!-- measured: growth -->\nold\n<!-- end of measured -->\nkept\n<!-- measured: peers -->\nof others\n<!-- end of measured -->\n")
	write(pageRuns, "<!-- measured: growth, targets -->\n<!-- end of measured -->\nbetween\n")
	if err := measuredGrowth().renew(dir); err == nil || !strings.Contains(err.Error(), "growth, all rows") {
		t.Errorf("a part that no page has: %v", err)
	}
	write(pageRuns, "<!-- measured: growth, targets -->\n<!-- end of measured -->\nbetween\n<!-- measured: growth, all rows -->\n<!-- end of measured -->\n")
	for range 2 { // It can be done again.
		if err := measuredGrowth().renew(dir); err != nil {
			t.Fatal(err)
		}
	}
	page := read(pageShort)
	if strings.Contains(page, "old") || !strings.Contains(page, "\nkept\n") || !strings.Contains(page, "of others") || strings.Count(page, "| 1,000 | create |") != 1 {
		t.Errorf("got %s", page)
	}
	if page := read(pageRuns); !strings.Contains(page, "between") || !strings.Contains(page, "### 1,000 ConfigMaps") {
		t.Errorf("got %s", page)
	}
	if !strings.HasPrefix(read(growthImage), "<svg") {
		t.Error("no picture")
	}
}

func TestRawReadsAListToItsEnd(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("continue")
		seen = append(seen, r.URL.Query().Get("limit")+" "+token)
		more := map[string]string{"": `,"continue":"a+b"`, "a+b": `,"continue":"c"`}[token]
		_, _ = io.WriteString(w, `{"kind":"List","metadata":{"resourceVersion":"1"`+more+`},"items":[{"data":{"x":"\"continue\":\"no\""}}]}`)
	}))
	defer server.Close()
	if err := lab.SendWaves(t.Context(), server.Client(), server.URL, []lab.RawRequest{{Method: http.MethodGet, Path: "/x", Pages: true}}, 2); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ", "); got != "1000 , 1000 a+b, 1000 c" {
		t.Errorf("got %s", got)
	}
}
