package verb

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Ask asks a question that ends in (yes/no), and reports whether the answer is yes; no
// answer is no. The error is why ctx ended before there was one.
func Ask(ctx context.Context, streams genericiooptions.IOStreams, question string) (bool, error) {
	fmt.Fprint(streams.ErrOut, question+" (yes/no): ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(streams.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case said := <-answer:
		return said == "yes" || said == "y", context.Cause(ctx)
	}
}
