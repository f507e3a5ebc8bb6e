package judge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// version is an object's version in etcd.
type version struct {
	revision string
	object   map[string]any
}

// history reads every version of the objects below a key from etcd itself, by name and in order.
func history(t *testing.T, socket, prefix string) map[string][]version {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	// It watches all keys; a key that is written now ends the history.
	last := map[string]any{"key": []byte("/judge"), "value": []byte("ends here")}
	var now struct{ Header struct{ Revision string } }
	post(ctx, t, client, "/v3/kv/put", last, func(d *json.Decoder) error { return d.Decode(&now) })

	out := map[string][]version{}
	all := map[string]any{"key": []byte("/"), "range_end": []byte("0"), "start_revision": "1"}
	post(ctx, t, client, "/v3/watch", map[string]any{"create_request": all}, func(d *json.Decoder) error {
		for {
			var answer struct {
				Result struct {
					CompactRevision string `json:"compact_revision"`
					Events          []struct {
						Type string
						KV   struct {
							Key, Value  []byte
							ModRevision string `json:"mod_revision"`
						}
					}
				}
			}
			if err := d.Decode(&answer); err != nil {
				return err
			}
			if at := answer.Result.CompactRevision; at != "" && at != "0" {
				return fmt.Errorf("the history was compacted at %s", at)
			}
			for _, e := range answer.Result.Events {
				if e.KV.ModRevision == now.Header.Revision {
					return nil
				}
				name, ours := strings.CutPrefix(string(e.KV.Key), prefix)
				if !ours || e.Type == "DELETE" {
					continue
				}
				var object map[string]any
				if err := json.Unmarshal(e.KV.Value, &object); err != nil {
					return err
				}
				out[name] = append(out[name], version{revision: e.KV.ModRevision, object: object})
			}
		}
	})
	return out
}

// post calls etcd's gateway. In its JSON, bytes are base64, as in Go's.
func post(ctx context.Context, t *testing.T, client http.Client, path string, body any, read func(*json.Decoder) error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := read(json.NewDecoder(answer.Body)); err != nil {
		t.Fatalf("etcd: %s: %v", path, err)
	}
}
