package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// growthCounts are the sizes at which the plugin's growth is measured, in ConfigMaps.
func growthCounts() []int { return []int{100, 1000, 10_000, largest} }

// growthCountList is the same as -count takes it.
func growthCountList() string {
	var list []string
	for _, count := range growthCounts() {
		list = append(list, strconv.Itoa(count))
	}
	return strings.Join(list, ",")
}

func growthWorks() []string {
	return []string{workCreate, workAgain, workDiff, workWait, workDelete}
}

func growthTitle(count int) string { return lab.Thousands(count) + " ConfigMaps" }

// grown is one work of the plugin at all sizes; NaN where it was not measured.
type grown struct {
	work            string
	seconds, memory []float64
}

// growth are the works that were measured at more than one size.
func (r *results) growth() []grown {
	var all []grown
	for _, work := range growthWorks() {
		one, measured := grown{work: work}, 0
		for _, count := range growthCounts() {
			row := r.find(growthTitle(count), work, toolPlugin, 0)
			one.seconds, one.memory = append(one.seconds, row.median(seconds)), append(one.memory, row.median(peakMB))
			if row != nil {
				measured++
			}
		}
		if measured > 1 {
			all = append(all, one)
		}
	}
	return all
}

// growthTable prints how the plugin's cost grows, in all and for each object.
func (r *results) growthTable(out io.Writer) {
	fmt.Fprint(out, "| ConfigMaps | work | seconds | of the limit | CPU s | CPU ms an object | of that at 1,000 | peak MB |\n")
	fmt.Fprint(out, "| --: | --- | --: | --: | --: | --: | --: | --: |\n")
	for _, count := range growthCounts() {
		for _, work := range growthWorks() {
			row := r.find(growthTitle(count), work, toolPlugin, 0)
			if row == nil {
				continue
			}
			each := row.median(cpuSeconds) / float64(count)
			cells := []string{
				lab.Thousands(count), work, decimal(row.median(seconds)), ratio(row.median(seconds) / r.limit(count, work)),
				decimal(row.median(cpuSeconds)), decimal(each * 1000), ratio(each / r.each(1000, work)), lab.Thousands(int(math.Round(row.median(peakMB)))),
			}
			fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
		}
	}
}

// each is the CPU time of a work for each of that many objects.
func (r *results) each(count int, work string) float64 {
	return r.find(growthTitle(count), work, toolPlugin, 0).median(cpuSeconds) / float64(count)
}

// limit is what a work takes the raw client: who has nothing to write reads.
func (r *results) limit(count int, work string) float64 {
	tool := toolPatch
	if work == workAgain || work == workDiff || work == workWait {
		tool = toolLook
	}
	return r.find(growthTitle(count), work, tool, 0).median(seconds)
}

// growthTargets are those at the largest size.
func (r *results) growthTargets() []target {
	title := growthTitle(largest)
	all := []target{
		{what: title + ", create, CPU an object, of that at 1,000", measured: r.each(largest, workCreate) / r.each(1000, workCreate), bound: 1.3, unit: "×"},
		{what: title + ", again, of the paged LIST", measured: r.find(title, workAgain, toolPlugin, 0).median(seconds) / r.limit(largest, workAgain), bound: 2.5, unit: "×"},
	}
	for _, work := range growthWorks() {
		all = append(all, target{what: title + ", " + work + ", memory", measured: r.find(title, work, toolPlugin, 0).median(peakMB), bound: 1000, unit: " MB"})
	}
	return all
}
