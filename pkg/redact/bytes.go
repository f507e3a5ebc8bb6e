package redact

import (
	"strconv"
	"strings"
)

// fewestBytes is the length from which a list of bytes is decoded.
const fewestBytes = shortest

// maskByteLists masks the lists of bytes in a text that contain a value: "[67 65 78]" as Go prints
// a []byte, "67, 65, 78" as Python and JavaScript do, "0x43, 0x41", "43 41" or "4341 4e" as a dump
// does. Such lists are decoded, because storing their many spellings of each value would take more
// memory than all others together. The callback (holds) reports whether the decoded bytes contain a
// value.
func maskByteLists(text string, holds func(string) bool) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		if !isHex(text[at]) || at > 0 && isNameByte(text[at-1]) {
			at++
			continue
		}
		numbers, end := byteList(text[at:])
		if len(numbers) < 2 {
			at++
			continue
		}
		for _, decoded := range decodings(numbers) {
			if len(decoded) >= fewestBytes && holds(decoded) {
				b.WriteString(text[done:at])
				b.WriteString(Mask)
				done = at + end
				break
			}
		}
		at += end
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// byteList returns the numbers with which a text begins, as they are written, and where they end.
func byteList(text string) (numbers []string, end int) {
	for at := 0; ; {
		from := at
		if strings.HasPrefix(text[at:], "0x") || strings.HasPrefix(text[at:], "0X") {
			at += 2
		}
		for at < len(text) && isHex(text[at]) {
			at++
		}
		if at == from || at-from > len("0xffff") || at < len(text) && isNameByte(text[at]) && text[at] != '.' {
			return numbers, end
		}
		numbers, end = append(numbers, text[from:at]), at
		next := at
		for next < len(text) && next-at < 3 && strings.IndexByte(", \n", text[next]) >= 0 {
			next++
		}
		if next == at {
			return numbers, end
		}
		at = next
	}
}

// decodings returns the bytes that the numbers stand for, if they are decimal and if they are
// hexadecimal.
func decodings(numbers []string) (all []string) {
	decimal, hexadecimal := make([]byte, 0, len(numbers)), make([]byte, 0, len(numbers))
	isDecimal, isHexadecimal := true, true
	for _, n := range numbers {
		if b, err := strconv.ParseUint(n, 10, 8); err == nil && isDecimal {
			decimal = append(decimal, byte(b))
		} else {
			isDecimal = false
		}
		digits := strings.TrimPrefix(strings.TrimPrefix(n, "0x"), "0X")
		if digits != n && len(digits) == 1 {
			digits = "0" + digits // Go writes a line feed as 0xa.
		}
		for ; isHexadecimal && len(digits) >= 2; digits = digits[2:] {
			b, err := strconv.ParseUint(digits[:2], 16, 8)
			isHexadecimal = err == nil
			hexadecimal = append(hexadecimal, byte(b))
		}
		isHexadecimal = isHexadecimal && digits == ""
	}
	if isDecimal {
		all = append(all, string(decimal))
	}
	if isHexadecimal {
		all = append(all, string(hexadecimal))
	}
	return all
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
