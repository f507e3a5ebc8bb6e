package text

// Distinct returns each of the items once, in their order.
func Distinct[T comparable](items []T) []T {
	seen := map[T]bool{}
	var out []T
	for _, item := range items {
		if !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}
