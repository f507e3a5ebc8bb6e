// Package rule has the parts that the rules of unready share. A [View] answers their
// questions: objects, the Pods below them and their warnings. A [Finding] is what they
// report, and [Causes] merges findings that are alike into one cause.
package rule
