package choices

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Check refuses choices that cannot be parsed, that identify a list item by its position, or that
// match no object. It warns about a path that no object has.
func Check(p *plan.Plan, predictor predict.Predictor, emit func(event.Event)) error {
	items := slices.Collect(p.Items())
	var errs []error
	places := map[string]int{}
	for _, item := range items {
		err := predictor.Check(item)
		if err == nil {
			continue
		}
		if at, message := places[err.Error()]; !message {
			places[err.Error()] = len(errs)
			errs = append(errs, err)
		} else if position, ok := errors.AsType[*predict.PositionError](errs[at]); ok && position.Key == nil {
			errs[at] = err
		}
	}
	for _, group := range []struct {
		flag    string
		choices []predict.Choice
	}{{"--take", predictor.Take}, {"--yield", predictor.Yield}, {"--recreate", predictor.Recreate}} {
		for _, c := range group.choices {
			if c.Kind != "" && !slices.ContainsFunc(items, func(item plan.Item) bool { return c.Names(item.Ref, item.Kind) }) {
				errs = append(errs, noObject(group.flag, c, items))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, miss := range predictor.Misses(items) {
		emit(event.Warned{Ref: miss.Ref, Text: miss.Text})
	}
	return nil
}

// noObject returns an error for a choice that matches no object. The error suggests the most
// similar name.
func noObject(flag string, c predict.Choice, items []plan.Item) error {
	err := fmt.Errorf("%s: no %s in the input", flag, c.Object())
	var names []string
	for _, item := range items {
		names = append(names, item.Resource())
		if c.Namespace != "" {
			kind := strings.TrimSuffix(item.Resource(), "/"+item.Name)
			names[len(names)-1] = kind + "/" + item.Namespace + "/" + item.Name
		}
	}
	intended := ""
	for _, item := range items {
		as := c
		as.Name, as.Namespace = item.Name, item.Namespace
		if c.Name != "" && intended == "" && as.Names(item.Ref, item.Kind) && (c.Name == as.Name || text.Similar(c.Name, as.Name)) {
			if c.Namespace == "" {
				as.Namespace = ""
			}
			intended = as.Object()
		}
	}
	if intended = cmp.Or(intended, text.Nearest(c.Object(), names)); intended == "" {
		return err
	}
	return &object.HintedError{Err: err, Advice: "did you mean " + intended + "?"}
}
