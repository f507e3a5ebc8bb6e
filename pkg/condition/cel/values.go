package cel

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"
)

// plain returns a value of CEL as one of JSON.
func plain(v ref.Val) (value any, absent bool) {
	if optional, ok := v.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, true
		}
		v = optional.GetValue()
	}
	if v == types.NullValue {
		return nil, true
	}
	return jsonOf(v.Value()), false
}

// jsonOf returns what CEL holds as JSON has it.
func jsonOf(v any) any {
	switch v := v.(type) {
	case nil, structpb.NullValue:
		return nil
	case bool, string, int64, float64, uint64:
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case deferred:
		return jsonOf(v.value)
	case ref.Val:
		value, _ := plain(v)
		return value
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, below := range v {
			out[name] = jsonOf(below)
		}
		return out
	case map[ref.Val]ref.Val:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[fmt.Sprint(key.Value())] = jsonOf(below)
		}
		return out
	case []any:
		return listOf(v)
	case []deferred:
		return listOf(v)
	case []ref.Val:
		return listOf(v)
	case []string:
		return listOf(v)
	default:
		return fmt.Sprint(v)
	}
}

func listOf[T any](items []T) []any {
	out := make([]any, len(items))
	for i := range items {
		out[i] = jsonOf(items[i])
	}
	return out
}
