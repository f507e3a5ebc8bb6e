# Completion of kubectl-k8sconnect, and of "kubectl k8sconnect", in fish 3.1 and newer. Unlike a general
# script, it never evaluates the words of the line again: the one of -l 'app in (web)' would run web
# (spf13/cobra#2096).

# __k8sconnect_args prints the arguments before the cursor. It fails if another program is called.
function __k8sconnect_args
    set -l words
    if string match -qr '^[1-3]\.' -- $version
        # Without a way to expand words, only these two are.
        for word in (commandline -opc)
            set -l name (string match -r '^\$(\w+)(?=/|$)' -- $word)[2]
            if string match -q '~/*' -- $word
                set word $HOME(string sub -s 2 -- $word)
            else if set -q name[1]; and set -q $name
                set word "$$name"(string replace -r '^\$\w+' '' -- $word)
            end
            set -a words $word
        end
    else
        set words (commandline -xpc)
    end
    while string match -qr '^\w+=' -- $words[1]
        set -e words[1] # an assignment before the command
    end
    if string match -qr '(^|/)kubectl-k8sconnect$' -- $words[1]
        set -e words[1]
    else if test "$words[2]" = k8sconnect
        set -e words[1..2]
    else
        return 1
    end
    if set -q words[1]
        printf '%s\n' $words
    end
end

# __k8sconnect_last prints the word at the cursor without its quotes, of which the last may be open.
function __k8sconnect_last
    set -l typed (commandline -ct)
    for end in '' \' \"
        if string unescape -- "$typed$end" 2>/dev/null
            return
        end
    end
    printf '%s\n' "$typed"
end

function __k8sconnect_is_plugin
    __k8sconnect_args >/dev/null
end

# __k8sconnect_prepare sets the words that are offered. It fails if fish should offer files.
function __k8sconnect_prepare
    set -g __k8sconnect_offers
    set -l args (__k8sconnect_args)
    or return 1
    set -l last (__k8sconnect_last)
    set -l out (kubectl-k8sconnect __complete $args "$last" 2>/dev/null </dev/null) # No prompt for a password.
    set -l directive (string replace -r '^:' '' -- $out[-1])
    string match -qr '^\d+$' -- "$directive"
    or return 0
    set -e out[-1]
    test (math "$directive % 2") = 1
    and return 0
    test (math "floor($directive / 8) % 4") = 0 # no endings of files, and no folders only
    or return 1
    set out (string match -v '_activeHelp_*' -- $out)
    if set -l flag (string match -r '^-[^=]*=' -- "$last")
        set out $flag$out
    end
    set -l beginning (string escape --style=regex -- "$last")
    set -l matching (string match -er "^$beginning" -- $out)
    if not set -q matching[1]
        test (math "floor($directive / 4) % 2") = 1
        return
    end
    if test (math "floor($directive / 2) % 2") = 1; and test (count $matching) = 1
        # fish adds a blank to the only word, but not to the beginning of two.
        set -a matching (string split -m 1 \t -- $matching)[1].
    end
    set -g __k8sconnect_offers $matching
    return 0 # set keeps the status of the command before it.
end

complete -c kubectl-k8sconnect -e
complete -c kubectl-k8sconnect -n __k8sconnect_prepare -f -k -a '$__k8sconnect_offers'
complete -c kubectl -n '__k8sconnect_is_plugin; and __k8sconnect_prepare' -f -k -a '$__k8sconnect_offers'

# kubectl's own script, if it was loaded before, leaves the plugin to this one.
if functions -q __kubectl_perform_completion; and not functions __kubectl_perform_completion | string match -q '*__k8sconnect_kubectl*'
    functions -e __k8sconnect_kubectl
    functions -c __kubectl_perform_completion __k8sconnect_kubectl
    function __kubectl_perform_completion
        __k8sconnect_is_plugin
        or __k8sconnect_kubectl
    end
end
