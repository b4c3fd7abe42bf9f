# fish completion for understudy and replay. Flags are read from the programs' own --help-all.
function __understudy_verbs
    understudy --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]\+\)  *\(.*\)/\1\t\2/p'
end
function __understudy_flags
    set -l words (commandline -opc)
    set -l command $words[1]
    if string match -q '*understudy' $words[1]; and test (count $words) -gt 1
        set command $words[1] $words[2]
    end
    $command --help-all 2>/dev/null | string match -r -a -- '--[a-z][a-z-]*' | sort -u
end
complete -c understudy -n 'test (count (commandline -opc)) -eq 1' -f -a '(__understudy_verbs)'
complete -c understudy -n 'test (count (commandline -opc)) -gt 1' -a '(__understudy_flags)'
complete -c replay -a '(__understudy_flags)'
