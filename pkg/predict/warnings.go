package predict

import "slices"

// Warnings returns the warnings about an object that an apply and its diff print, whatever the outcome.
func (in *Prediction) Warnings() []string {
	return slices.DeleteFunc([]string{in.contradictionText(), in.undecidedText()}, func(text string) bool { return text == "" })
}
