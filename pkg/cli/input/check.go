package input

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

// Check rejects choices before anything is sent: those that cannot be parsed, that name a
// list item by its position, or that are for an object that is not in the input, which is
// a dangerous slip. A path that no object states is reported to emit.
func Check(p *plan.Plan, predictor predict.Predictor, emit func(event.Event)) error {
	var items []plan.Item
	for _, ph := range p.Phases {
		if items == nil {
			items = ph.Items // The whole plan, often.
			continue
		}
		items = slices.Concat(items, ph.Items)
	}
	var errs []error
	places := map[string]int{}
	for _, item := range items {
		err := predictor.Check(item)
		if err == nil {
			continue
		}
		// A flag that covers many objects is reported once; the error with a hint wins.
		if at, said := places[err.Error()]; !said {
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

// noObject says that a choice matches no object of the input, and which one was probably
// meant: the one with the most similar name in a flag.
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
	meant := ""
	for _, item := range items {
		as := c
		as.Name, as.Namespace = item.Name, item.Namespace
		if c.Name != "" && meant == "" && as.Names(item.Ref, item.Kind) && (c.Name == as.Name || text.Similar(c.Name, as.Name)) { // The kind is right.
			if c.Namespace == "" {
				as.Namespace = ""
			}
			meant = as.Object()
		}
	}
	if meant = cmp.Or(meant, text.Nearest(c.Object(), names)); meant == "" {
		return err
	}
	return &object.HintedError{Err: err, Advice: "did you mean " + meant + "?"}
}
